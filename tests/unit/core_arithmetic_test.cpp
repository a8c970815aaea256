#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/draw.h"
#include "core/timing.h"
#include "core/validity.h"

namespace redlock::core {
namespace {

Duration ms(std::int64_t n) {
  return Duration::milliseconds(n);
}

TEST_CASE("the default spans fit together for every ttl from 500 ms on") {
  for (std::int64_t ttl = 500; ttl < 200'000; ttl += 7) {
    CAPTURE(ttl);
    CHECK(check(Timing::for_ttl(ms(ttl))) == TimingFault::none);
  }
  CHECK(check(Timing::for_ttl(kMaxTtl)) == TimingFault::none);
}

TEST_CASE("the default timeline of a ttl of 30 s is the documented one") {
  const Timing timing = Timing::for_ttl(Duration::seconds(30));
  CHECK(timing.renew_interval == Duration::seconds(10));
  CHECK(timing.node_timeout == ms(1500));
  CHECK(timing.kill_after == Duration::seconds(5));
  CHECK(timing.kill_margin == ms(1500));
  CHECK(timing.drift() == ms(302));
  CHECK(timing.connect_limit() == Duration::seconds(5));
  const TimePoint sent = TimePoint::from_ns(77);
  const TimePoint end = lease_end(sent, timing);
  CHECK(end - sent == ms(29'698));
  CHECK(deadlines_for(end, timing).kill == end - ms(1500));
  CHECK(deadlines_for(end, timing).stop == end - ms(6500));
}

TEST_CASE("drift is a hundredth of the ttl, rounded up, and 2 ms") {
  CHECK(Timing::for_ttl(ms(500)).drift() == ms(7));
  CHECK(Timing::for_ttl(Duration::nanoseconds(101)).drift() == ms(2) + Duration::nanoseconds(2));
}

TEST_CASE("each relation between the spans is refused at its border and not before") {
  Timing timing = Timing::for_ttl(Duration::seconds(6));
  timing.kill_after = Duration();
  SUBCASE("ttl") {
    CHECK(check(Timing::for_ttl(ms(499))) == TimingFault::ttl_out_of_range);
    CHECK(check(Timing::for_ttl(kMaxTtl + ms(1))) == TimingFault::ttl_out_of_range);
    CHECK(check(Timing::for_ttl(Duration::infinite())) == TimingFault::ttl_out_of_range);
  }
  SUBCASE("node timeout") {
    timing.kill_margin = Duration();
    timing.node_timeout = timing.renew_interval;
    CHECK(check(timing) == TimingFault::node_timeout_too_long);
    timing.node_timeout = timing.renew_interval - ms(50);
    CHECK(check(timing) == TimingFault::none);
  }
  SUBCASE("the sum") {
    timing.kill_after = timing.ttl - least_ttl(timing);
    CHECK(check(timing) == TimingFault::none);
    timing.kill_after = timing.kill_after + Duration::nanoseconds(1);
    CHECK(check(timing) == TimingFault::does_not_fit);
  }
  SUBCASE("no overflow hides a sum that does not fit") {
    timing.kill_after = Duration::infinite();
    CHECK(check(timing) == TimingFault::does_not_fit);
    timing.kill_margin = Duration::infinite();
    CHECK(check(timing) == TimingFault::does_not_fit);
  }
}

TEST_CASE("two quorums always share a server, and a quorum is no larger than needed") {
  for (std::size_t nodes = 1; nodes < 100; ++nodes) {
    CHECK(2 * quorum_of(nodes) > nodes);
    CHECK(2 * (quorum_of(nodes) - 1) <= nodes);
  }
}

/// The slow and obvious definition: the last instant at which a quorum still counts.
TimePoint valid_until_by_counting(const std::vector<TimePoint>& ends) {
  TimePoint best = TimePoint::past();
  for (const TimePoint candidate : ends) {
    const auto still = std::count_if(ends.begin(), ends.end(),
                                     [candidate](TimePoint end) { return end >= candidate; });
    if (static_cast<std::size_t>(still) >= quorum_of(ends.size())) best = std::max(best, candidate);
  }
  return best;
}

TEST_CASE("valid_until agrees with counting, for 50,000 random worlds") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 chance(seed);
  for (int round = 0; round < 50'000; ++round) {
    std::vector<TimePoint> ends(1 + chance() % 9);
    for (TimePoint& end : ends) {
      end = chance() % 3 == 0 ? TimePoint::past()
                              : TimePoint::from_ns(static_cast<std::int64_t>(chance() % 20));
    }
    REQUIRE(valid_until(ends) == valid_until_by_counting(ends));
  }
}

TEST_CASE("a lease held by fewer servers than a quorum is over") {
  const TimePoint end = TimePoint::from_ns(5);
  const TimePoint none = TimePoint::past();
  CHECK(valid_until({end, none, none}) == none);
  CHECK(valid_until({end, end, none}) == end);
  CHECK(valid_until({none}) == none);
  CHECK(valid_until({end, end}) == end);
  CHECK(valid_until({end, none}) == none);
}

TEST_CASE("pauses grow, are random, and stay between half and one and a half of their base") {
  std::mt19937_64 chance(1);
  const Draw draw = [&chance] { return chance(); };
  for (const auto& [ttl, cap] :
       {std::pair{ms(500), ms(200)}, std::pair{ms(5'000), ms(500)},
        std::pair{ms(30'000), ms(2'000)}, std::pair{ms(600'000), ms(2'000)}}) {
    Backoff backoff(ttl);
    Duration base = ms(100);
    for (int i = 0; i < 50; ++i) {
      const Duration pause = backoff.next(draw);
      CHECK(pause >= base / 2);
      CHECK(pause <= base + base / 2);
      base = std::min(base + base / 2, cap);
    }
  }
  CHECK(Backoff(ms(500)).next(draw) != Backoff(ms(500)).next(draw));
}

}  // namespace
}  // namespace redlock::core
