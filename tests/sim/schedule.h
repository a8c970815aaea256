// Simulated time: what happens when, in one order that depends on nothing but the seed. Also the
// clocks of the parties, each with a rate and an offset of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"

namespace redlock::sim {

/// True time, which no party can read.
class Schedule {
 public:
  TimePoint now() const { return now_; }
  void at(TimePoint when, std::function<void()> what) {
    events_.emplace(std::pair(std::max(when, now_), sequence_++), std::move(what));
  }
  void in(Duration span, std::function<void()> what) { at(now_ + span, std::move(what)); }
  /// Runs the next event; false when there is none before `end`.
  bool run_next(TimePoint end) {
    if (events_.empty() || events_.begin()->first.first > end) return false;
    auto event = events_.extract(events_.begin());
    now_ = event.key().first;
    event.mapped()();
    return true;
  }

 private:
  TimePoint now_ = TimePoint::from_ns(0);
  std::uint64_t sequence_ = 0;
  std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> events_;
};

/// One party's clock.
struct Clock {
  Duration offset;
  std::int64_t ppm = 0;  ///< parts per million faster than true time

  TimePoint read(TimePoint truth) const {
    return TimePoint::from_ns(truth.ns() + truth.ns() * ppm / 1'000'000) + offset;
  }
  /// A true time at which it shows at least `local`, and hardly more.
  TimePoint when(TimePoint local) const {
    if (local.is_never()) return local;
    if (local <= read(TimePoint())) return TimePoint();
    const std::int64_t shown = (local - read(TimePoint())).ns();
    TimePoint truth = TimePoint::from_ns(shown - shown * ppm / (1'000'000 + ppm));
    while (read(truth) < local) truth = truth + Duration::nanoseconds(100);
    return truth;
  }
};

/// The one source of chance of a world: splitmix64.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t draw() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most - least + 1));
  }
  Duration ms_between(std::int64_t least, std::int64_t most) {
    return Duration::microseconds(between(least * 1000, most * 1000));
  }
  Duration up_to(Duration most) { return Duration::nanoseconds(between(0, most.ns())); }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }

 private:
  std::uint64_t state_;
};

}  // namespace redlock::sim
