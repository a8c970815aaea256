// Points and spans of time on one clock, in nanoseconds. Which clock is the business of whoever
// reads it (os/clock.h: CLOCK_BOOTTIME); nothing here can tell the time.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace redlock {

/// A span of time in nanoseconds; may be negative. Addition and multiplication saturate, so that
/// "for ever" stays for ever.
class Duration {
 public:
  constexpr Duration() = default;

  static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration microseconds(std::int64_t n) { return Duration(n) * 1'000; }
  static constexpr Duration milliseconds(std::int64_t n) { return Duration(n) * 1'000'000; }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n) * 1'000'000'000; }
  /// Longer than any span that occurs.
  static constexpr Duration infinite() {
    return Duration(std::numeric_limits<std::int64_t>::max());
  }

  constexpr std::int64_t ns() const { return ns_; }
  /// Whole milliseconds, rounded towards zero.
  constexpr std::int64_t ms() const { return ns_ / 1'000'000; }
  constexpr bool is_infinite() const { return *this == infinite(); }

  friend constexpr auto operator<=>(Duration, Duration) = default;

  friend constexpr Duration operator+(Duration a, Duration b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.ns_, b.ns_, &sum)) return Duration(limit_towards(b.ns_));
    return Duration(sum);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.ns_, b.ns_, &difference)) return Duration(limit_towards(~b.ns_));
    return Duration(difference);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t factor) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.ns_, factor, &product)) {
      return Duration(limit_towards((a.ns_ < 0) == (factor < 0) ? 1 : -1));
    }
    return Duration(product);
  }
  friend constexpr Duration operator/(Duration a, std::int64_t divisor) {
    return Duration(a.ns_ / divisor);
  }

 private:
  explicit constexpr Duration(std::int64_t n) : ns_(n) {}

  static constexpr std::int64_t limit_towards(std::int64_t sign) {
    return sign < 0 ? std::numeric_limits<std::int64_t>::min()
                    : std::numeric_limits<std::int64_t>::max();
  }

  std::int64_t ns_ = 0;
};

/// A point in time. Only differences mean anything outside the clock it was read from.
class TimePoint {
 public:
  constexpr TimePoint() = default;

  static constexpr TimePoint from_ns(std::int64_t ns) {
    return TimePoint(Duration::nanoseconds(ns));
  }
  /// Later than any other point: "no deadline".
  static constexpr TimePoint never() { return TimePoint(Duration::infinite()); }
  /// Earlier than any other point: "already over".
  static constexpr TimePoint past() { return from_ns(std::numeric_limits<std::int64_t>::min()); }

  constexpr std::int64_t ns() const { return since_epoch_.ns(); }
  constexpr bool is_never() const { return *this == never(); }

  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;

  /// never() and past() stay what they are under any shift.
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    if (t == never() || t == past()) return t;
    return TimePoint(t.since_epoch_ + d);
  }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) {
    if (t == never() || t == past()) return t;
    return TimePoint(t.since_epoch_ - d);
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return a.since_epoch_ - b.since_epoch_;
  }

 private:
  explicit constexpr TimePoint(Duration since_epoch) : since_epoch_(since_epoch) {}

  Duration since_epoch_;
};

}  // namespace redlock
