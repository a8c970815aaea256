// The arithmetic of a lease over N servers. One rule covers acquiring, renewing, partial renewals,
// late answers and N = 1: the lease is valid until the Q-th largest of the servers' lease ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/assert.h"
#include "base/time.h"
#include "core/timing.h"

namespace redlock::core {

/// How many of n servers make a majority: floor(n/2) + 1. Any two majorities share a server.
constexpr std::size_t quorum_of(std::size_t nodes) {
  return nodes / 2 + 1;
}

/// The instant until which a server certainly keeps the key, given that the request was sent at
/// `sent`. Measured from before sending, since the server may have executed it at once.
inline TimePoint lease_end(TimePoint sent, const Timing& timing) {
  return sent + timing.ttl - timing.drift();
}

/// The Q-th largest of `ends`, one for each server; past() stands for "does not hold our token".
/// Until then a majority keeps our key, so nobody else can have a majority.
inline TimePoint valid_until(std::vector<TimePoint> ends) {
  RR_ASSERT(!ends.empty());
  const auto nth = ends.begin() + static_cast<std::ptrdiff_t>(quorum_of(ends.size()) - 1);
  std::nth_element(ends.begin(), nth, ends.end(), std::greater<>());
  return *nth;
}

/// What a valid_until means for the job: signal at stop, SIGKILL no later than kill.
struct Deadlines {
  TimePoint stop = TimePoint::never();
  TimePoint kill = TimePoint::never();

  friend bool operator==(const Deadlines&, const Deadlines&) = default;
};

inline Deadlines deadlines_for(TimePoint valid_until, const Timing& timing) {
  const TimePoint kill = valid_until - timing.kill_margin;
  return {.stop = kill - timing.kill_after, .kill = kill};
}

}  // namespace redlock::core
