#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/timerfd.h>

#include "base/unique_fd.h"
#include "os/clock.h"
#include "os/timer.h"

TEST_SUITE_BEGIN("os.timer");

namespace redlock::os {
namespace {

/// Whether the timer becomes readable within `limit_ms`.
bool fires(const UniqueFd& timer, int limit_ms) {
  pollfd polled{timer.get(), POLLIN, 0};
  return ::poll(&polled, 1, limit_ms) == 1;
}

constexpr int kAtOnce = 0;
constexpr int kPatienceMs = 20'000;

TEST_CASE("a new timer is silent, marked and never blocks") {
  const UniqueFd timer = make_timer();
  REQUIRE(timer);
  CHECK(!fires(timer, kAtOnce));
  CHECK(!clear_timer(timer.get()));  // would hang if it could block
  CHECK((::fcntl(timer.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a point ahead is waited for, one that is over is there at once") {
  const UniqueFd timer = make_timer();
  const TimePoint ahead = boot_now() + Duration::milliseconds(20);
  set_timer(timer.get(), ahead);
  CHECK(fires(timer, kPatienceMs));
  CHECK(boot_now() >= ahead);
  for (const TimePoint over : {TimePoint::past(), TimePoint::from_ns(-1), TimePoint::from_ns(0),
                               TimePoint::from_ns(1), boot_now()}) {
    CAPTURE(over.ns());
    set_timer(timer.get(), TimePoint::never());
    set_timer(timer.get(), over);
    CHECK(fires(timer, kPatienceMs));
  }
}

TEST_CASE("the points are on CLOCK_BOOTTIME, to the nanosecond") {
  const UniqueFd timer = make_timer();
  set_timer(timer.get(), boot_now() + Duration::seconds(100));
  itimerspec left{};
  REQUIRE(::timerfd_gettime(timer.get(), &left) == 0);
  const auto rest =
      Duration::seconds(left.it_value.tv_sec) + Duration::nanoseconds(left.it_value.tv_nsec);
  CHECK(rest <= Duration::seconds(100));
  CHECK(rest > Duration::seconds(80));
  CHECK(left.it_interval.tv_sec == 0);
  CHECK(left.it_interval.tv_nsec == 0);
}

TEST_CASE("never stops a timer that was set, fired or not") {
  const UniqueFd timer = make_timer();
  set_timer(timer.get(), TimePoint::past());
  REQUIRE(fires(timer, kPatienceMs));
  set_timer(timer.get(), TimePoint::never());
  CHECK(!fires(timer, kAtOnce));
  set_timer(timer.get(), boot_now() + Duration::milliseconds(1));
  set_timer(timer.get(), TimePoint::never());
  CHECK(!fires(timer, 20));
}

TEST_CASE("clearing says whether it had fired and makes it silent until it is set again") {
  const UniqueFd timer = make_timer();
  set_timer(timer.get(), TimePoint::past());
  REQUIRE(fires(timer, kPatienceMs));
  CHECK(clear_timer(timer.get()));
  CHECK(!fires(timer, kAtOnce));
  CHECK(!clear_timer(timer.get()));
  set_timer(timer.get(), TimePoint::past());
  CHECK(fires(timer, kPatienceMs));
}

}  // namespace
}  // namespace redlock::os
