#include "support/wait.h"

#include <ctime>
#include <thread>

namespace redlock::test {
namespace {

constexpr milliseconds kInterval{2};

}  // namespace

bool wait_until(const std::function<bool()>& fact, milliseconds limit) {
  const Stopwatch watch;
  do {
    if (fact()) return true;
    std::this_thread::sleep_for(kInterval);
  } while (watch.elapsed() < limit);
  return fact();
}

bool holds_for(milliseconds span, const std::function<bool()>& fact) {
  const Stopwatch watch;
  do {
    if (!fact()) return false;
    std::this_thread::sleep_for(kInterval);
  } while (watch.elapsed() < span);
  return true;
}

void pace(milliseconds span) {
  std::this_thread::sleep_for(span);
}

std::int64_t boottime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace redlock::test
