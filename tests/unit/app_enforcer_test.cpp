#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "app/enforcer.h"
#include "os/clock.h"
#include "support/forked.h"
#include "support/process.h"
#include "support/wait.h"

TEST_SUITE_BEGIN("app.enforcer");

namespace redlock::app {
namespace {

using test::fork_off;
using test::in_child;
using test::wait_until;

constexpr Duration kGrace = Duration::seconds(5);
constexpr Duration kPatience = Duration::seconds(2);
/// The lease is good for ever.
constexpr core::Deadlines kNoDeadlines{};

struct Board {
  std::array<std::atomic<pid_t>, 4> pids{};
  std::array<std::atomic<int>, 4> stop_signals{};
  std::atomic<bool> go{false};
};

/// Writes down what it is told.
class Listener : public EnforcerListener {
 public:
  void on_ended(const os::ChildEnd& end) override {
    told += end.signalled ? "signal " : "exit ";
    told += std::to_string(end.value) + ";";
  }
  void on_left(const Pids& pids) override {
    told += "left;";
    left = pids;
  }
  void on_stopped(bool stopped) override { told += stopped ? "stopped;" : "continued;"; }
  void on_fenced() override { told += "fenced;"; }
  void on_unkillable(const Pids& pids) override {
    told += "unkillable;";
    left = pids;
  }
  void on_over() override { told += "over;"; }

  std::string told;
  Pids left;
};

Board* board = nullptr;
std::size_t own_place = 0;

/// Signs in and counts SIGTERM without ending by it.
[[noreturn]] void resist_at(std::size_t place) {
  own_place = place;
  ::signal(SIGTERM, [](int) { ++board->stop_signals[own_place]; });
  board->pids[place] = ::getpid();
  for (;;) ::pause();
}

[[noreturn]] void sleep_at(std::size_t place) {
  board->pids[place] = ::getpid();
  for (;;) ::pause();
}

void await(std::initializer_list<std::size_t> places) {
  for (const std::size_t place : places) {
    EXPECT_IN_CHILD(wait_until([place] { return board->pids[place] > 0; }));
  }
}

/// Runs `body(enforcer, listener, now)` in a child for a `main` that does `command`.
template <class Command, class Body>
void enforce(const Command& command, const Body& body) {
  const test::Shared<Board> shared;
  board = &*shared;
  in_child([&] {
    const pid_t main = fork_off(command);
    Listener listener;
    Enforcer enforcer(main, false, SIGTERM, core::Fence(kGrace, kPatience), listener);
    body(enforcer, listener, os::boot_now());
  });
}

/// Kills, as the fence wants it, until it is over.
void tick_until_over(Enforcer& enforcer, const core::Deadlines& deadlines) {
  EXPECT_IN_CHILD(wait_until([&] {
    enforcer.tick(os::boot_now(), deadlines);
    return enforcer.over();
  }));
}

TEST_CASE("COMMAND's end is told once, and with nothing left it is all over") {
  enforce([] { ::_exit(3); },
          [](Enforcer& enforcer, Listener& listener, TimePoint now) {
            EXPECT_IN_CHILD(!enforcer.over());
            EXPECT_IN_CHILD(wait_until([&] {
              enforcer.on_children(now);
              return enforcer.over();
            }));
            enforcer.on_children(now);
            enforcer.tick(now, kNoDeadlines);
            EXPECT_IN_CHILD(listener.told == "exit 3;over;");
            EXPECT_IN_CHILD(enforcer.wakeup(kNoDeadlines).is_never());
          });
}

TEST_CASE("what COMMAND leaves behind in its session is named once and waited for") {
  enforce(
      [] {
        fork_off([] { sleep_at(0); });
        test::wait_or_exit([] { return board->pids[0] > 0; });
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return !listener.told.empty();
        }));
        enforcer.on_children(now);
        EXPECT_IN_CHILD(listener.told == "exit 0;left;");
        EXPECT_IN_CHILD(listener.left.count == 1);
        EXPECT_IN_CHILD(listener.left.list[0] == board->pids[0]);
        EXPECT_IN_CHILD(!enforcer.over());
        ::kill(board->pids[0], SIGKILL);
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return enforcer.over();
        }));
        EXPECT_IN_CHILD(listener.told == "exit 0;left;over;");
      });
}

TEST_CASE("a daemon that left the session is not waited for while all is well") {
  enforce(
      [] {
        fork_off([] {
          ::setsid();
          sleep_at(0);
        });
        test::wait_or_exit([] { return board->pids[0] > 0; });
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return enforcer.over();
        }));
        EXPECT_IN_CHILD(listener.told == "exit 0;over;");
        EXPECT_IN_CHILD(test::is_running(board->pids[0]));
        ::kill(board->pids[0], SIGKILL);
      });
}

TEST_CASE("what is left is counted again, soon at first and then every half second") {
  enforce(
      [] {
        fork_off([] {
          fork_off([] { sleep_at(0); });
          sleep_at(1);
        });
        test::wait_or_exit([] { return board->pids[0] > 0 && board->pids[1] > 0; });
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        EXPECT_IN_CHILD(enforcer.wakeup(kNoDeadlines).is_never());
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return !listener.told.empty();
        }));
        Duration pause = Duration::milliseconds(1);
        for (int recounts = 0; recounts < 12; ++recounts) {
          const TimePoint again = now + pause;
          EXPECT_IN_CHILD(enforcer.wakeup(kNoDeadlines) == again);
          // A nearer deadline comes first, and looking too early changes nothing.
          const core::Deadlines nearer{.stop = now + Duration::microseconds(1)};
          EXPECT_IN_CHILD(enforcer.wakeup(nearer) == nearer.stop);
          enforcer.tick(again - Duration::nanoseconds(1), kNoDeadlines);
          EXPECT_IN_CHILD(enforcer.wakeup(kNoDeadlines) == again);
          enforcer.tick(again, kNoDeadlines);
          now = again;
          pause = std::min(pause * 2, Duration::milliseconds(500));
        }
        EXPECT_IN_CHILD(pause == Duration::milliseconds(500));
        enforcer.front_gone(now);
        tick_until_over(enforcer, {.stop = TimePoint::past(), .kill = TimePoint::past()});
      });
}

TEST_CASE("at the stop line everything gets the stop signal, at the kill line SIGKILL") {
  enforce(
      [] {
        fork_off([] {
          ::setsid();
          resist_at(1);
        });
        resist_at(0);
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        await({0, 1});
        const core::Deadlines deadlines{.stop = now + Duration::seconds(100),
                                        .kill = now + Duration::seconds(200)};
        enforcer.tick(deadlines.stop - Duration::nanoseconds(1), deadlines);
        EXPECT_IN_CHILD(listener.told.empty());
        EXPECT_IN_CHILD(enforcer.wakeup(deadlines) == deadlines.stop);
        enforcer.tick(deadlines.stop, deadlines);
        EXPECT_IN_CHILD(listener.told == "fenced;");
        for (const std::size_t place : {0UL, 1UL}) {
          EXPECT_IN_CHILD(wait_until([&] { return board->stop_signals[place] == 1; }));
        }
        EXPECT_IN_CHILD(enforcer.wakeup(deadlines) == deadlines.kill);
        enforcer.tick(deadlines.kill - Duration::nanoseconds(1), deadlines);
        EXPECT_IN_CHILD(test::is_running(board->pids[0]));
        EXPECT_IN_CHILD(test::is_running(board->pids[1]));
        TimePoint at = deadlines.kill;
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.tick(at, deadlines);
          at = at + Duration::microseconds(200);
          return enforcer.over();
        }));
        EXPECT_IN_CHILD(listener.told == "fenced;signal 9;over;");
        for (const std::size_t place : {0UL, 1UL}) {
          EXPECT_IN_CHILD(!test::is_running(board->pids[place]));
          EXPECT_IN_CHILD(board->stop_signals[place] == 1);
        }
      });
}

TEST_CASE("COMMAND's own end does not save what it left once the stop line was crossed") {
  enforce(
      [] {
        fork_off([] {
          ::setsid();
          resist_at(0);
        });
        sleep_at(1);
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        await({0, 1});
        const core::Deadlines over{.stop = now, .kill = TimePoint::never()};
        enforcer.tick(now, over);
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return listener.told == "fenced;signal 15;";
        }));
        EXPECT_IN_CHILD(!enforcer.over());
        tick_until_over(enforcer, {.stop = TimePoint::past(), .kill = TimePoint::past()});
        EXPECT_IN_CHILD(!test::is_running(board->pids[0]));
      });
}

TEST_CASE("the front's death stops everything, and kills after the grace") {
  enforce([] { resist_at(0); },
          [](Enforcer& enforcer, Listener& listener, TimePoint now) {
            await({0});
            enforcer.front_gone(now);
            EXPECT_IN_CHILD(wait_until([] { return board->stop_signals[0] == 1; }));
            EXPECT_IN_CHILD(enforcer.wakeup(kNoDeadlines) == now + kGrace);
            enforcer.tick(now + kGrace - Duration::nanoseconds(1), kNoDeadlines);
            EXPECT_IN_CHILD(test::is_running(board->pids[0]));
            enforcer.tick(now + kGrace, kNoDeadlines);
            EXPECT_IN_CHILD(wait_until([] { return !test::is_running(board->pids[0]); }));
            enforcer.on_children(now + kGrace);
            EXPECT_IN_CHILD(enforcer.over());
            EXPECT_IN_CHILD(listener.told == "signal 9;over;");
          });
}

TEST_CASE("an order to stop signals the job and not its daemons, and a stopped job gets CONT") {
  enforce(
      [] {
        fork_off([] {
          ::setsid();
          resist_at(1);
        });
        resist_at(0);
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        await({0, 1});
        ::kill(board->pids[0], SIGSTOP);
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return listener.told == "stopped;";
        }));
        enforcer.stop(now, {.kill = TimePoint::never()});
        // It could not have counted the signal without having been continued.
        EXPECT_IN_CHILD(wait_until([] { return board->stop_signals[0] == 1; }));
        EXPECT_IN_CHILD(wait_until([&] {
          enforcer.on_children(now);
          return listener.told == "stopped;continued;";
        }));
        EXPECT_IN_CHILD(board->stop_signals[1] == 0);
        tick_until_over(enforcer, {.stop = TimePoint::past(), .kill = TimePoint::past()});
      });
}

TEST_CASE("what cannot be killed is named when patience ends") {
  if (::getuid() != 0) {
    MESSAGE("not root: nobody to become");
    return;
  }
  enforce(
      [] {
        board->pids[0] = ::getpid();
        test::wait_or_exit([] { return board->go.load(); });
      },
      [](Enforcer& enforcer, Listener& listener, TimePoint now) {
        await({0});
        EXPECT_IN_CHILD(::setresuid(65534, 65534, 65534) == 0);
        const core::Deadlines over{.stop = now, .kill = now};
        enforcer.tick(now, over);
        enforcer.tick(now + kPatience - Duration::nanoseconds(1), over);
        EXPECT_IN_CHILD(!enforcer.over());
        enforcer.tick(now + kPatience, over);
        EXPECT_IN_CHILD(enforcer.over());
        EXPECT_IN_CHILD(listener.told == "fenced;unkillable;");
        EXPECT_IN_CHILD(listener.left.count == 1);
        EXPECT_IN_CHILD(listener.left.list[0] == board->pids[0]);
        board->go = true;
      });
}

}  // namespace
}  // namespace redlock::app
