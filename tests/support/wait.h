// Waiting for facts instead of for time, and the two clocks of the tests. Refuses to sleep for
// luck: pace() is for input that has to be spread over time, never for "it will have happened by
// then".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace redlock::test {

using std::chrono::milliseconds;

/// How long a fact may take to become true on a loaded machine before its test fails.
constexpr milliseconds kPatience{20'000};

/// Asks every few milliseconds. False when `fact` did not become true within `limit`.
[[nodiscard]] bool wait_until(const std::function<bool()>& fact, milliseconds limit = kPatience);

/// True when `fact` held at every look during `span`.
[[nodiscard]] bool holds_for(milliseconds span, const std::function<bool()>& fact);

/// Lets `span` go by, as part of what a test does.
void pace(milliseconds span);

/// Nanoseconds on CLOCK_BOOTTIME, the clock of all stamps.
std::int64_t boottime_ns();

/// Time since construction.
class Stopwatch {
 public:
  milliseconds elapsed() const { return milliseconds((boottime_ns() - start_) / 1'000'000); }

 private:
  std::int64_t start_ = boottime_ns();
};

}  // namespace redlock::test
