#include "os/clock.h"

#include <ctime>

#include "base/assert.h"

namespace redlock::os {
namespace {

std::int64_t read_ns(clockid_t clock) {
  timespec now{};
  RR_ASSERT(::clock_gettime(clock, &now) == 0);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

TimePoint boot_now() {
  return TimePoint::from_ns(read_ns(CLOCK_BOOTTIME));
}

std::int64_t wall_ms() {
  return read_ns(CLOCK_REALTIME) / 1'000'000;
}

}  // namespace redlock::os
