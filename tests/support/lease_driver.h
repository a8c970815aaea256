// Drives a Lease by hand: no clock, no network, just what is said at which time. Used by the tests
// of the core.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/lease.h"

namespace redlock::test {

inline constexpr TimePoint kStart = TimePoint::from_ns(1'000'000'000'000);

inline Duration ms(std::int64_t n) {
  return Duration::milliseconds(n);
}

/// ttl 3 s: renewals every second, drift 32 ms, node timeout and margin 150 ms, kill_after 750 ms.
inline core::LeaseConfig lease_config(std::size_t nodes = 1, Duration wait = Duration()) {
  return {.nodes = nodes, .timing = core::Timing::for_ttl(Duration::seconds(3)), .wait = wait};
}

/// A lease, its clock and a record of what it sent. Servers are connected from the start unless
/// told otherwise.
class LeaseDriver {
 public:
  explicit LeaseDriver(const core::LeaseConfig& config, bool connected = true)
      : lease(config, draw_), config_(config) {
    if (!connected) return;
    for (std::size_t i = 0; i < config.nodes; ++i) link(i, true);
  }

  core::LeaseEffects step(const core::LeaseInput& input) {
    core::LeaseEffects effects = lease.step(now, input);
    for (const core::LeaseEffect& effect : effects) {
      if (const auto* send = std::get_if<core::Send>(&effect)) {
        sent.push_back(*send);
        open_[send->node.get()].push_back(send->request);
      }
    }
    return effects;
  }
  core::LeaseEffects begin() { return step(core::Begin{}); }
  core::LeaseEffects tick() { return step(core::Tick{}); }
  core::LeaseEffects link(std::size_t node, bool up) {
    return step(core::NodeLink{NodeIndex(node), up});
  }
  core::LeaseEffects after(Duration span) {
    now = now + span;
    return tick();
  }
  /// As long as stragglers are listened to when a quorum has granted at once.
  core::LeaseEffects after_stragglers() { return after(Duration::microseconds(500)); }
  /// Goes to the next wakeup, which has to be there, and ticks.
  core::LeaseEffects wake() {
    REQUIRE_FALSE(lease.wakeup().is_never());
    now = std::max(now, lease.wakeup());
    return tick();
  }

  /// The oldest unanswered request to `node`.
  std::optional<core::Request> asked(std::size_t node) const {
    const auto it = open_.find(node);
    if (it == open_.end() || it->second.empty()) return std::nullopt;
    return it->second.front();
  }
  std::size_t unanswered(std::size_t node) const {
    const auto it = open_.find(node);
    return it == open_.end() ? 0 : it->second.size();
  }
  /// Answers the oldest unanswered request to `node`.
  core::LeaseEffects answer(std::size_t node, core::Outcome outcome) {
    REQUIRE(asked(node));
    const core::Request request = open_[node].front();
    open_[node].erase(open_[node].begin());
    return step(core::NodeAnswer{NodeIndex(node), request.id, std::move(outcome)});
  }
  core::LeaseEffects grant(std::size_t node, std::uint64_t fence = 7, bool raised = true) {
    core::Outcome outcome;
    outcome.answer = core::Answer::granted;
    outcome.fence = FencingToken(fence);
    outcome.raised = raised;
    return answer(node, outcome);
  }
  core::LeaseEffects say(std::size_t node, core::Answer what) {
    core::Outcome outcome;
    outcome.answer = what;
    outcome.reason = "test";
    return answer(node, outcome);
  }
  core::LeaseEffects held(std::size_t node, Duration remaining) {
    core::Outcome outcome;
    outcome.answer = core::Answer::held;
    outcome.remaining = remaining;
    outcome.holder = "other";
    return answer(node, outcome);
  }

  TimePoint now = kStart;
  std::vector<core::Send> sent;

 private:
  std::uint64_t chance_ = 0;
  const core::Draw draw_ = [this] { return chance_ += 0x9E3779B97F4A7C15; };

 public:
  core::Lease lease;

 private:
  core::LeaseConfig config_;
  std::map<std::size_t, std::vector<core::Request>> open_;
};

/// The effect of type T, if there is exactly one.
template <class T, class Effects>
std::optional<T> only(const Effects& effects) {
  std::optional<T> found;
  for (const auto& effect : effects) {
    if (const auto* one = std::get_if<T>(&effect)) {
      REQUIRE_FALSE(found);
      found = *one;
    }
  }
  return found;
}

}  // namespace redlock::test
