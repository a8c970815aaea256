// The Lua scripts that make each request one atomic step on the server. They use GET, SET, PTTL,
// PEXPIRE and DEL only, which is all that a user needs to be allowed. Without a shebang line,
// because with one a server that is out of memory refuses even those that free or keep something.
#pragma once

namespace redlock::redis::scripts {

/// A value of another type is WRONGTYPE for GET: somebody else's key, to be left alone. The fencing
/// counter moves first: when memory runs out there, nothing is acquired. An attempt that arrives
/// after a newer one of the same run changes nothing. INFO, which says which server this is and how
/// long it has been up, is asked only where that matters, and may be forbidden. A request of more
/// than ten words would be cut off by a server that wants a password, instead of being refused.
inline constexpr const char* kAcquire = R"lua(
-- KEYS lock, fence; ARGV "RUNID.", token, ttl in ms, least fencing number, least uptime in s or ''
-- {1, fencing number, server}; {0, pttl, holder, server}; {-1, pttl} another type; {-3} newer attempt;
-- {-4} bad counter; {-5, uptime in s} too young. server: its run_id; '' unknown; '-' INFO is forbidden
local function failed(reply) return type(reply) == 'table' and reply.err end
local function attempt_of(token) return tonumber(string.match(token, '^%d+', #ARGV[1] + 1)) end
local server, uptime = '', nil
if ARGV[5] ~= '' then
  local info = redis.pcall('INFO', 'server')
  if failed(info) then
    server = '-'
  else
    server = string.match(info, 'run_id:(%w+)') or ''
    uptime = tonumber(string.match(info, 'uptime_in_seconds:(%d+)'))
  end
end
local held = redis.pcall('GET', KEYS[1])
if failed(held) then
  if string.find(held.err, 'WRONGTYPE', 1, true) then return {-1, redis.call('PTTL', KEYS[1])} end
  return held
end
if held then
  if string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then
    return {0, redis.call('PTTL', KEYS[1]), string.sub(held, 1, 512), server}
  end
  local attempt = attempt_of(held)
  if attempt and attempt > attempt_of(ARGV[2]) then return {-3} end
elseif uptime and uptime < tonumber(ARGV[5]) then
  return {-5, uptime}
end
local counter = redis.pcall('GET', KEYS[2])
if failed(counter) then
  if string.find(counter.err, 'WRONGTYPE', 1, true) then return {-4} end
  return counter
end
local last = tonumber(counter or '0')
if not last or not (last >= 0 and last < 9007199254740991) then return {-4} end
local fence = string.format('%.0f', math.max(last + 1, tonumber(ARGV[4])))
local set = redis.pcall('SET', KEYS[2], fence)
if failed(set) then return set end
set = redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if failed(set) then return set end
return {1, fence, server}
)lua";

/// Raising the counter may fail (no right to SET, another type) without failing the renewal; it
/// runs behind PEXPIRE, after which Redis lets a script write even when memory is full.
inline constexpr const char* kRenew = R"lua(
-- KEYS lock, fence; ARGV token, ttl in ms, fencing number
-- {1, 1 if the counter has reached the number, else 0}; {0, pttl, holder}; {-1} another type; {-2} gone
local function failed(reply) return type(reply) == 'table' and reply.err end
local held = redis.pcall('GET', KEYS[1])
if failed(held) then
  if string.find(held.err, 'WRONGTYPE', 1, true) then return {-1} end
  return held
end
if not held then return {-2} end
if held ~= ARGV[1] then return {0, redis.call('PTTL', KEYS[1]), string.sub(held, 1, 512)} end
local renewed = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if failed(renewed) then return renewed end
local counter = redis.pcall('GET', KEYS[2])
if failed(counter) then return {1, 0} end
local last = tonumber(counter or '0')
if not last then return {1, 0} end
if last >= tonumber(ARGV[3]) then return {1, 1} end
if failed(redis.pcall('SET', KEYS[2], ARGV[3])) then return {1, 0} end
return {1, 1}
)lua";

inline constexpr const char* kRelease = R"lua(
-- KEYS lock; ARGV token
-- {1} deleted; {0} another holder's or another type; {-2} gone
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' and held.err then
  if string.find(held.err, 'WRONGTYPE', 1, true) then return {0} end
  return held
end
if not held then return {-2} end
if held ~= ARGV[1] then return {0} end
local deleted = redis.pcall('DEL', KEYS[1])
if type(deleted) == 'table' then return deleted end
return {1}
)lua";

}  // namespace redlock::redis::scripts
