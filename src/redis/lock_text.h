// The texts that a lock leaves on a server: names of its keys and the token stored under the main
// one. Whatever comes back from a server was possibly written by somebody else and is never
// trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/node_io.h"

namespace redlock::redis {

/// The key of a lock: `prefix` + `name`, exact bytes. Fails (a usage error) when the key would look
/// like one of the keys that stand beside a lock.
Result<LockKey> make_lock_key(std::string_view prefix, const LockName& name);

/// The key of the fencing counter that belongs to `key`; in the same Redis Cluster slot wherever
/// `key` allows that.
std::string fence_key(const LockKey& key);

/// Who took a lock and when, as its token says.
struct Holder {
  /// Made printable: without control characters or broken UTF-8.
  std::string host;
  std::int64_t pid = 0;
  /// Seconds since the epoch, by that host's clock.
  std::int64_t since = 0;
};

/// The token `RUNID.ATTEMPT@HOST:PID:SINCE`. `holder.host` goes in as it is.
Token make_token(std::string_view run_id, core::Attempt attempt, const Holder& holder);

/// Reads a token written by make_token(); nullopt for anything else.
std::optional<Holder> parse_holder(std::string_view token);

/// What the requests of one run to all servers have in common.
struct LockIdentity {
  LockKey key;
  /// 128 random bits as 32 lower-case hex digits.
  std::string run_id;
  Duration ttl;
  /// The token of one attempt: for the same attempt always the same text, made by make_token()
  /// with this run_id.
  std::function<Token(core::Attempt)> token;
  /// Milliseconds since the epoch when the attempt was begun, for all servers the same: the fencing
  /// counter never falls below it, so that it grows even after a server lost its memory.
  std::function<std::int64_t(core::Attempt)> wall_ms;
  /// A server that has been up for less does not grant a new lock; zero: all do.
  Duration min_uptime;
  /// Servers are to say which they are, because one of several could be named twice.
  bool several = false;
};

}  // namespace redlock::redis
