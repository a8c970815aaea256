#include "os/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/assert.h"

namespace redlock::os {

UniqueFd make_timer() {
  UniqueFd timer(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  RR_ASSERT(timer);
  return timer;
}

void set_timer(int timer, TimePoint when) {
  itimerspec spec{};
  if (!when.is_never()) {
    // An absolute time of zero would stop the timer instead of firing at once.
    const std::int64_t ns = std::max<std::int64_t>(when.ns(), 1);
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  RR_ASSERT(::timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

bool clear_timer(int timer) {
  std::uint64_t expirations = 0;
  return ::read(timer, &expirations, sizeof expirations) > 0;
}

}  // namespace redlock::os
