#include "model/serve.h"

#include <algorithm>

namespace redlock::model {
namespace {

using core::Answer;

void answer(Message& message, Answer what) {
  message.answer = static_cast<std::uint8_t>(what);
}

std::int32_t ttl_of(const Rules& rules) {
  if (!rules.timed) return 0;
  const Duration ttl = rules.lease.timing.ttl;
  const bool early = rules.mutant == Mutant::early_expiry;
  return static_cast<std::int32_t>((early ? ttl - rules.lease.timing.drift() * 2 : ttl).ns());
}

bool is_of(const Server& server, const Asker& asker) {
  return server.owner == asker.client + 1 && server.run == asker.run;
}

bool is_key(const Server& server, const Asker& asker, const Message& message) {
  return is_of(server, asker) && server.attempt == message.attempt;
}

void store(Server& server, const Asker& asker, const Message& message, const Rules& rules) {
  server.owner = static_cast<std::uint8_t>(asker.client + 1);
  server.run = asker.run;
  server.attempt = message.attempt;
  server.remaining = ttl_of(rules);
  if (!rules.follow_order) return;
  const auto tag = static_cast<std::uint8_t>(tag_of(asker.client, asker.run) + 1);
  const auto end = std::remove(server.order.begin(), server.order.end(), tag);
  std::fill(end, server.order.end(), std::uint8_t{0});
  *std::find(server.order.begin(), server.order.end(), std::uint8_t{0}) = tag;
}

void acquire(Server& server, const Asker& asker, Message& message, const Rules& rules) {
  if (server.owner != 0 && !is_of(server, asker)) {
    answer(message, Answer::held);
    // Said so that it means the same whichever of the two clients is called the first.
    const int other = server.owner == asker.client + 1 ? 0 : 8;
    message.holder = static_cast<std::uint8_t>(other + server.run);
    message.remaining = server.remaining;
    return;
  }
  if (server.owner != 0 && server.attempt > message.attempt) return answer(message, Answer::failed);
  const bool heals = message.kind == Ask::heal;
  const bool votes = heals || server.young <= 0 || rules.mutant == Mutant::votes_when_young;
  if (server.owner == 0 && !votes) return answer(message, Answer::young);
  const std::uint8_t least = heals ? message.fence : asker.floor;
  server.counter = std::max(static_cast<std::uint8_t>(server.counter + 1), least);
  store(server, asker, message, rules);
  answer(message, Answer::granted);
  message.number = server.counter;
}

void renew(Server& server, const Asker& asker, Message& message, const Rules& rules) {
  const bool recreates = rules.mutant == Mutant::renew_recreates && server.owner == 0;
  if (recreates) store(server, asker, message, rules);
  if (!is_key(server, asker, message)) {
    return answer(message, server.owner == 0 ? Answer::gone : Answer::foreign);
  }
  server.remaining = ttl_of(rules);
  if (rules.mutant != Mutant::raise_is_a_lie) {
    server.counter = std::max(server.counter, message.fence);
  }
  answer(message, Answer::granted);
  message.raised = 1;
}

void release(Server& server, const Asker& asker, Message& message, const Rules& rules) {
  const bool any = rules.mutant == Mutant::release_any && server.owner != 0;
  if (!is_key(server, asker, message) && !any) {
    return answer(message, server.owner == 0 ? Answer::gone : Answer::foreign);
  }
  server.owner = server.run = server.attempt = 0;
  server.remaining = 0;
  answer(message, Answer::granted);
}

}  // namespace

void serve(Server& server, const Asker& asker, Message& message, const Rules& rules) {
  message.stage = Stage::reply;
  if (asker.private_server) {
    // Its own server, which nobody else asks: always free, always its own.
    answer(message, Answer::granted);
    message.number = 1;
    message.raised = 1;
    return;
  }
  switch (message.kind) {
    case Ask::acquire:
    case Ask::heal:
      return acquire(server, asker, message, rules);
    case Ask::renew:
      return renew(server, asker, message, rules);
    case Ask::release:
      return release(server, asker, message, rules);
  }
}

}  // namespace redlock::model
