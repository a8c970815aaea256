#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "base/time.h"

TEST_SUITE_BEGIN("base.time");

namespace redlock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

Duration ns(std::int64_t n) {
  return Duration::nanoseconds(n);
}

TEST_CASE("every unit is so many nanoseconds") {
  CHECK(Duration().ns() == 0);
  CHECK(Duration::nanoseconds(-7).ns() == -7);
  CHECK(Duration::microseconds(3).ns() == 3'000);
  CHECK(Duration::milliseconds(3).ns() == 3'000'000);
  CHECK(Duration::seconds(-3).ns() == -3'000'000'000);
}

TEST_CASE("whole milliseconds are rounded towards zero") {
  CHECK(ns(1'999'999).ms() == 1);
  CHECK(ns(999'999).ms() == 0);
  CHECK(ns(-1'999'999).ms() == -1);
  CHECK(Duration::seconds(2).ms() == 2000);
}

TEST_CASE("a sum that does not fit stays at the limit it went over") {
  CHECK((ns(kMost) + ns(1)).ns() == kMost);
  CHECK((ns(kMost) + ns(kMost)).ns() == kMost);
  CHECK((ns(kLeast) + ns(-1)).ns() == kLeast);
  CHECK((ns(kMost) + ns(-1)).ns() == kMost - 1);
  CHECK((ns(kMost) + ns(kLeast)).ns() == -1);
  CHECK((ns(2) + ns(3)).ns() == 5);
}

TEST_CASE("a difference that does not fit stays at the limit it went over") {
  CHECK((ns(kLeast) - ns(1)).ns() == kLeast);
  CHECK((ns(kMost) - ns(-1)).ns() == kMost);
  CHECK((ns(0) - ns(kLeast)).ns() == kMost);
  CHECK((ns(-2) - ns(kMost)).ns() == kLeast);
  CHECK((ns(-1) - ns(kLeast)).ns() == kMost);
  CHECK((ns(2) - ns(3)).ns() == -1);
}

TEST_CASE("a product that does not fit stays at the limit of its sign") {
  CHECK((ns(kMost) * 2).ns() == kMost);
  CHECK((ns(kMost) * -2).ns() == kLeast);
  CHECK((ns(kLeast) * 2).ns() == kLeast);
  CHECK((ns(kLeast) * -1).ns() == kMost);
  CHECK((ns(kMost) * 0).ns() == 0);
  CHECK((ns(-6) * 7).ns() == -42);
  CHECK(Duration::seconds(kMost).is_infinite());
  CHECK(Duration::seconds(kLeast).ns() == kLeast);
}

TEST_CASE("division is exact arithmetic on nanoseconds") {
  CHECK((Duration::seconds(30) / 3) == Duration::seconds(10));
  CHECK((ns(7) / 2).ns() == 3);
}

TEST_CASE("for ever is longer than anything and does not get longer") {
  CHECK(Duration::infinite().is_infinite());
  CHECK(!Duration::seconds(1'000'000'000).is_infinite());
  CHECK(Duration::infinite() > Duration::seconds(9'000'000'000));
  CHECK((Duration::infinite() + Duration::seconds(1)).is_infinite());
  CHECK((Duration::infinite() * 3).is_infinite());
}

TEST_CASE("spans and points are ordered by their length and place") {
  CHECK(ns(-1) < ns(0));
  CHECK(ns(5) == ns(5));
  CHECK(TimePoint::from_ns(1) < TimePoint::from_ns(2));
  CHECK(TimePoint::past() < TimePoint::from_ns(kLeast + 1));
  CHECK(TimePoint::from_ns(kMost - 1) < TimePoint::never());
  CHECK(TimePoint() == TimePoint::from_ns(0));
}

TEST_CASE("never and past stay what they are under any shift") {
  for (const std::int64_t shift : {kLeast, std::int64_t{-1}, std::int64_t{0}, kMost}) {
    CAPTURE(shift);
    CHECK((TimePoint::never() + ns(shift)).is_never());
    CHECK((TimePoint::never() - ns(shift)).is_never());
    CHECK((TimePoint::past() + ns(shift)) == TimePoint::past());
    CHECK((TimePoint::past() - ns(shift)) == TimePoint::past());
  }
}

TEST_CASE("a point moves by a span and back") {
  const TimePoint start = TimePoint::from_ns(1'000);
  CHECK((start + ns(500)).ns() == 1'500);
  CHECK((start - ns(500)).ns() == 500);
  CHECK((start + ns(500)) - start == ns(500));
  CHECK(start - (start + ns(500)) == ns(-500));
  CHECK((start + ns(500) - ns(500)) == start);
}

TEST_CASE("a shift that leaves the clock ends at never or past") {
  CHECK((TimePoint::from_ns(kMost - 5) + ns(6)).is_never());
  CHECK((TimePoint::from_ns(10) + Duration::infinite()).is_never());
  CHECK((TimePoint::from_ns(kLeast + 5) - ns(6)) == TimePoint::past());
}

TEST_CASE("the way to never is endless and the way from past is, too") {
  CHECK((TimePoint::never() - TimePoint::from_ns(-1)).is_infinite());
  CHECK((TimePoint::from_ns(0) - TimePoint::past()).is_infinite());
  CHECK((TimePoint::past() - TimePoint::from_ns(1)).ns() == kLeast);
}

}  // namespace
}  // namespace redlock
