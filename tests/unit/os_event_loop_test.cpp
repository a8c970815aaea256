#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "os/clock.h"
#include "os/event_loop.h"
#include "support/forked.h"

TEST_SUITE_BEGIN("os.event_loop");

namespace redlock::os {
namespace {

constexpr Readiness kRead{.readable = true};
constexpr Readiness kWrite{.writable = true};

/// A descriptor that is readable (and writable) from the start.
class Event {
 public:
  Event() : fd_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) { REQUIRE(fd_); }
  int fd() const { return fd_.get(); }
  void clear() const {
    std::uint64_t count = 0;
    REQUIRE(::read(fd_.get(), &count, sizeof count) == sizeof count);
  }

 private:
  UniqueFd fd_;
};

struct SocketPair {
  SocketPair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  UniqueFd ours;
  UniqueFd theirs;
};

/// Far enough not to come while a test runs, near enough to end one that hangs.
TimePoint later() {
  return boot_now() + Duration::seconds(20);
}

TEST_CASE("callbacks run in the order in which their descriptors were first watched") {
  EventLoop loop;
  std::array<Event, 5> events;
  std::vector<int> order;
  std::vector<int> expected;
  for (const int i : {3, 0, 4, 1, 2}) {
    const int fd = events[static_cast<std::size_t>(i)].fd();
    loop.watch(fd, kRead, [&order, fd](Readiness) { order.push_back(fd); });
    expected.push_back(fd);
  }
  loop.wait_until(later());
  CHECK(order == expected);
  // Watched again, with another callback: the place is kept.
  loop.watch(expected[0], kRead, [&](Readiness) { order.push_back(-1); });
  order.clear();
  loop.wait_until(later());
  expected[0] = -1;
  CHECK(order == expected);
}

TEST_CASE("only the interest that is watched for is reported") {
  EventLoop loop;
  const SocketPair pair;
  std::vector<Readiness> seen;
  loop.watch(pair.ours.get(), kWrite, [&](Readiness what) { seen.push_back(what); });
  loop.wait_until(later());
  REQUIRE(seen.size() == 1);
  CHECK(!seen[0].readable);
  CHECK(seen[0].writable);

  loop.set_interest(pair.ours.get(), kRead);
  loop.wait_until(TimePoint::past());
  CHECK(seen.size() == 1);
  REQUIRE(::write(pair.theirs.get(), "x", 1) == 1);
  loop.wait_until(later());
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].readable);
  CHECK(!seen[1].writable);

  loop.set_interest(pair.ours.get(), {.readable = true, .writable = true});
  loop.wait_until(later());
  REQUIRE(seen.size() == 3);
  CHECK(seen[2].readable);
  CHECK(seen[2].writable);
}

TEST_CASE("watching for nothing is silent, even about a hang-up, until the interest comes back") {
  EventLoop loop;
  SocketPair pair;
  int calls = 0;
  loop.watch(pair.ours.get(), kRead, [&](Readiness) { ++calls; });
  loop.set_interest(pair.ours.get(), {});
  pair.theirs.reset();
  loop.wait_until(boot_now() + Duration::milliseconds(5));
  CHECK(calls == 0);
  loop.set_interest(pair.ours.get(), kWrite);
  loop.wait_until(later());
  CHECK(calls == 1);
}

TEST_CASE("a hang-up and an error are reported as both") {
  for (const Readiness interest : {kRead, kWrite}) {
    EventLoop loop;
    SocketPair pair;
    pair.theirs.reset();
    std::vector<Readiness> seen;
    loop.watch(pair.ours.get(), interest, [&](Readiness what) { seen.push_back(what); });
    loop.wait_until(later());
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].readable);
    CHECK(seen[0].writable);
  }
  // A pipe without a reader is an error, one without a writer a hang-up.
  for (const bool keep_reader : {true, false}) {
    EventLoop loop;
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    (keep_reader ? writer : reader).reset();
    std::vector<Readiness> seen;
    loop.watch(keep_reader ? reader.get() : writer.get(), keep_reader ? kRead : kWrite,
               [&](Readiness what) { seen.push_back(what); });
    loop.wait_until(later());
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].readable);
    CHECK(seen[0].writable);
  }
}

TEST_CASE("a callback that forgets itself is not called again and stays whole until it returns") {
  EventLoop loop;
  const Event event;
  const std::string long_enough_for_the_heap(100, 'x');
  std::string seen;
  loop.watch(event.fd(), kRead, [&loop, &event, &seen, text = long_enough_for_the_heap](Readiness) {
    loop.forget(event.fd());
    seen = text;  // what the lambda owns is still there
  });
  loop.wait_until(later());
  CHECK(seen == long_enough_for_the_heap);
  seen.clear();
  loop.wait_until(TimePoint::past());
  CHECK(seen.empty());
}

TEST_CASE("a callback may forget a later one of the same turn") {
  EventLoop loop;
  const Event first;
  const Event second;
  const Event third;
  std::string order;
  loop.watch(first.fd(), kRead, [&](Readiness) {
    order += '1';
    loop.forget(second.fd());
  });
  loop.watch(second.fd(), kRead, [&](Readiness) { order += '2'; });
  loop.watch(third.fd(), kRead, [&](Readiness) { order += '3'; });
  loop.wait_until(later());
  CHECK(order == "13");
}

TEST_CASE("a callback may replace itself and watch others, for the next turn") {
  EventLoop loop;
  const Event event;
  const Event other;
  std::string order;
  loop.watch(event.fd(), kRead, [&](Readiness) {
    order += 'a';
    loop.watch(event.fd(), kRead, [&](Readiness) { order += 'b'; });
    // More than one, so that the list has to grow while it is in use.
    loop.watch(other.fd(), kRead, [&](Readiness) { order += 'c'; });
  });
  loop.wait_until(later());
  CHECK(order == "a");
  loop.wait_until(later());
  CHECK(order == "abc");
}

TEST_CASE("forgetting what is not watched does nothing") {
  EventLoop loop;
  loop.forget(0);
  loop.forget(12345);
  loop.wait_until(TimePoint::past());
}

TEST_CASE("a deadline that is over returns at once and still runs what is due") {
  EventLoop loop;
  for (const TimePoint over :
       {TimePoint::past(), TimePoint::from_ns(-1), TimePoint::from_ns(0), TimePoint::from_ns(1),
        boot_now(), boot_now() - Duration::seconds(3600)}) {
    const test::Stopwatch watch;
    loop.wait_until(over);
    loop.wait_until(over);  // the same deadline again is not waited for either
    CHECK(watch.elapsed() < test::milliseconds(10'000));
  }
  const Event event;
  int calls = 0;
  loop.watch(event.fd(), kRead, [&](Readiness) { ++calls; });
  loop.wait_until(TimePoint::past());
  CHECK(calls == 1);
}

TEST_CASE("a deadline ahead is reached, never before its time") {
  EventLoop loop;
  for (const std::int64_t ms : {1, 20, 5}) {
    const TimePoint deadline = boot_now() + Duration::milliseconds(ms);
    loop.wait_until(deadline);
    CHECK(boot_now() >= deadline);
    CHECK(boot_now() < deadline + Duration::seconds(10));
  }
}

TEST_CASE("a deadline can be moved either way and taken back") {
  EventLoop loop;
  const Event event;
  int calls = 0;
  loop.watch(event.fd(), kRead, [&](Readiness) {
    ++calls;
    event.clear();
  });
  loop.wait_until(later());  // ends by the event; the timer stays armed for later
  CHECK(calls == 1);
  const TimePoint nearer = boot_now() + Duration::milliseconds(10);
  loop.wait_until(nearer);
  CHECK(boot_now() >= nearer);
  CHECK(boot_now() < nearer + Duration::seconds(10));
  CHECK(calls == 1);

  // With a timer of the turn before left armed, "never" would end early.
  const SocketPair pair;
  loop.watch(pair.theirs.get(), kWrite, [](Readiness) {});
  loop.wait_until(boot_now() + Duration::milliseconds(30));
  loop.forget(pair.theirs.get());
  test::in_child([&loop, &pair] {
    const TimePoint asked = boot_now();
    if (::fork() == 0) {
      // Well after the deadline that was taken back.
      test::pace(test::milliseconds(200));
      static_cast<void>(::write(pair.theirs.get(), "x", 1));
      ::_exit(0);
    }
    bool came = false;
    loop.watch(pair.ours.get(), kRead, [&came](Readiness) { came = true; });
    loop.wait_until(TimePoint::never());
    EXPECT_IN_CHILD(came);
    EXPECT_IN_CHILD(boot_now() >= asked + Duration::milliseconds(200));
  });
}

TEST_CASE("a signal handler of somebody else does not end the wait") {
  test::in_child([] {
    struct sigaction action{};
    action.sa_handler = [](int) {};  // without SA_RESTART
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every{.it_interval = {0, 2000}, .it_value = {0, 2000}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
    EventLoop loop;
    const TimePoint deadline = boot_now() + Duration::milliseconds(50);
    loop.wait_until(deadline);
    EXPECT_IN_CHILD(boot_now() >= deadline);
  });
}

}  // namespace
}  // namespace redlock::os
