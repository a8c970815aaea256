#include "sim/node.h"

#include <algorithm>

#include "sim/world.h"

namespace redlock::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

Node::Node(World& world, std::size_t i, Clock clock) : index(i), world_(world), clock_(clock) {
  // It has been up for long.
  started_at_ = local().ns() / kSecond - 1'000'000;
}

TimePoint Node::local() const {
  return clock_.read(world_.schedule.now());
}

const Key* Node::key() {
  if (memory_.key && memory_.key->expires <= local() && !world_.plan.broken.keys_never_expire) {
    memory_.key.reset();
  }
  return memory_.key ? &*memory_.key : nullptr;
}

bool Node::holds(std::uint64_t run, core::Attempt attempt) {
  const Key* const held = key();
  return held != nullptr && held->run == run && held->attempt == attempt;
}

/// Redis counts whole seconds of its clock, from the whole second in which it was started.
std::int64_t Node::uptime_seconds() const {
  return local().ns() / kSecond - started_at_;
}

core::Outcome Node::execute(const Message& message) {
  world_.checks.executes(*this, message);
  switch (message.request.kind) {
    case core::RequestKind::acquire:
    case core::RequestKind::heal:
      return acquire(message);
    case core::RequestKind::renew:
      return renew(message);
    case core::RequestKind::release:
      return release(message);
  }
  return {};
}

core::Outcome Node::held_by(const Key& key) const {
  core::Outcome outcome;
  outcome.answer = core::Answer::held;
  outcome.remaining = key.expires - local();
  outcome.holder_id = key.run == kStranger ? "a stranger" : "run " + std::to_string(key.run);
  outcome.holder = outcome.holder_id;
  return outcome;
}

core::Outcome Node::acquire(const Message& message) {
  const bool heals = message.request.kind == core::RequestKind::heal;
  const Plan& plan = world_.plan;
  const bool asks_uptime = plan.min_uptime > Duration() && !heals;
  core::Outcome outcome;
  const Key* const held = key();
  if (held != nullptr && held->run != message.run && !plan.broken.acquire_overwrites) {
    outcome = held_by(*held);
  } else if (held != nullptr && held->run == message.run &&
             held->attempt > message.request.attempt) {
    outcome.answer = core::Answer::failed;
    return outcome;
  } else if (held == nullptr && asks_uptime &&
             uptime_seconds() < (plan.min_uptime.ms() + 999) / 1000 + 1) {
    outcome.answer = core::Answer::young;
    if (plan.broken.says_young_but_sets) set_key(message);
    return outcome;
  } else {
    const std::uint64_t least = heals ? message.request.fence.get() : message.floor;
    if (!plan.broken.counter_stands_still) ++memory_.counter;
    memory_.counter = std::max(memory_.counter, least);
    set_key(message);
    outcome.answer = core::Answer::granted;
    outcome.fence = FencingToken(memory_.counter);
  }
  if (plan.nodes > 1 || asks_uptime) {
    outcome.server = "s" + std::to_string(index) + "." + std::to_string(starts_);
  }
  return outcome;
}

core::Outcome Node::renew(const Message& message) {
  core::Outcome outcome;
  const Key* const held = key();
  const bool ours = holds(message.run, message.request.attempt);
  const Broken& broken = world_.plan.broken;
  const bool wrongly = held == nullptr ? broken.renew_recreates : broken.renew_ignores_token;
  if (!ours && !wrongly) {
    outcome.answer = held == nullptr ? core::Answer::gone : core::Answer::foreign;
    if (held != nullptr) outcome.holder = held_by(*held).holder;
    return outcome;
  }
  set_key(message);
  if (!broken.raise_is_ignored) {
    memory_.counter = std::max(memory_.counter, message.request.fence.get());
  }
  outcome.answer = core::Answer::granted;
  outcome.raised = true;
  return outcome;
}

core::Outcome Node::release(const Message& message) {
  core::Outcome outcome;
  const Key* const held = key();
  const bool ours = holds(message.run, message.request.attempt);
  if (!ours && !(world_.plan.broken.release_ignores_token && held != nullptr)) {
    outcome.answer = held == nullptr ? core::Answer::gone : core::Answer::foreign;
    return outcome;
  }
  drop_key(message.run);
  outcome.answer = core::Answer::granted;
  return outcome;
}

void Node::set_key(const Message& message) {
  world_.checks.key_is_set(*this, message);
  memory_.key =
      Key{message.run, message.request.attempt, local() + world_.plan.timing.ttl, message.sent};
}

void Node::drop_key(std::uint64_t by) {
  world_.checks.key_is_dropped(*this, by);
  memory_.key.reset();
}

void Node::take_for_stranger(Duration ttl) {
  memory_.key = Key{kStranger, {}, local() + ttl, world_.schedule.now()};
}

void Node::crash(Memory memory) {
  static constexpr const char* kWords[] = {"node %n crashes, keeping its memory",
                                           "node %n crashes and forgets everything",
                                           "node %n crashes and will have an old snapshot"};
  world_.note(Trace::kNobody, kWords[static_cast<int>(memory)], index);
  ++world_.counts.restarts;
  running_ = false;
  hangs_until_ = TimePoint::past();
  if (memory != Memory::kept) {
    world_.checks.memory_is_lost(*this);
    memory_ = memory == Memory::stale ? saved_ : State{};
  }
  world_.for_links_of(index, [](Link& link) { link.server_crashed(); });
}

void Node::start() {
  if (running_) return;
  running_ = true;
  ++starts_;
  started_at_ = local().ns() / kSecond;
  disturbed_ = world_.schedule.now();
  world_.note(Trace::kNobody, "node %n is up again", index);
}

void Node::hang(TimePoint until) {
  world_.note(Trace::kNobody, "node %n hangs", index);
  hangs_until_ = std::max(hangs_until_, until);
}

void Node::go_on() {
  world_.note(Trace::kNobody, "node %n goes on", index);
  disturbed_ = std::max(disturbed_, std::min(hangs_until_, world_.schedule.now()));
  hangs_until_ = TimePoint::past();
  world_.for_links_of(index, [](Link& link) { link.pump(); });
}

TimePoint Node::disturbed() const {
  return running_ ? std::max(disturbed_, hangs_until_) : TimePoint::never();
}

}  // namespace redlock::sim
