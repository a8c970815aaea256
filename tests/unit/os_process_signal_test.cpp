#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "os/process_tree.h"
#include "support/forked.h"
#include "support/process.h"
#include "support/wait.h"

TEST_SUITE_BEGIN("os.process_signal");

namespace redlock::os {
namespace {

using test::fork_off;
using test::in_child;
using test::wait_until;

/// Queued by the kernel, each one for itself: what is sent twice is counted twice.
const int kCounted = SIGRTMIN;
/// Of a higher number, so that it is delivered after every kCounted sent before it.
const int kLast = SIGRTMIN + 1;

struct Member {
  std::atomic<pid_t> pid{0};
  std::atomic<int> counted{0};
  std::atomic<int> last{0};
};

/// main, its child, a child in a group of its own, one in a session of its own, and a grandchild.
enum Place : std::size_t { kMain, kChild, kOtherGroup, kOtherSession, kGrandchild, kPlaces };

using Members = std::array<Member, kPlaces>;

void count_at(Member& self) {
  sigset_t both;
  ::sigemptyset(&both);
  ::sigaddset(&both, kCounted);
  ::sigaddset(&both, kLast);
  ::sigprocmask(SIG_BLOCK, &both, nullptr);
  self.pid = ::getpid();
  for (;;) {
    const int signal = ::sigwaitinfo(&both, nullptr);
    if (signal == kCounted) ++self.counted;
    if (signal == kLast) ++self.last;
  }
}

pid_t start_members(Members& members, bool own_group) {
  const pid_t main = fork_off([&] {
    if (own_group) ::setpgid(0, 0);
    fork_off([&] {
      fork_off([&] { count_at(members[kGrandchild]); });
      count_at(members[kChild]);
    });
    fork_off([&] {
      ::setpgid(0, 0);
      count_at(members[kOtherGroup]);
    });
    fork_off([&] {
      ::setsid();
      count_at(members[kOtherSession]);
    });
    count_at(members[kMain]);
  });
  const bool there = wait_until([&] {
    for (const Member& member : members) {
      if (member.pid == 0) return false;
    }
    return true;
  });
  EXPECT_IN_CHILD(there);
  return main;
}

/// How often each member got kCounted, as digits in the order of Place.
std::string counts(Members& members) {
  for (const Member& member : members) ::kill(member.pid, kLast);
  const bool settled = wait_until([&] {
    for (const Member& member : members) {
      if (member.last == 0) return false;
    }
    return true;
  });
  EXPECT_IN_CHILD(settled);
  std::string digits;
  for (const Member& member : members) digits += std::to_string(member.counted);
  return digits;
}

void end_all(ProcessTree& tree) {
  EXPECT_IN_CHILD(wait_until([&tree] {
    tree.kill_all();
    return tree.census().tree_empty;
  }));
}

/// counts() after `send`.
template <class Send>
void expect_counts(bool own_group, const Send& send, const std::string& expected) {
  const test::Shared<Members> members;
  ProcessTree tree(start_members(*members, own_group), own_group);
  send(tree);
  const std::string got = counts(*members);
  EXPECT_IN_CHILD(got == expected);
  end_all(tree);
}

TEST_CASE("a signal to main is for main alone") {
  for (const bool own_group : {false, true}) {
    CAPTURE(own_group);
    in_child([own_group] {
      expect_counts(own_group, [](ProcessTree& tree) { tree.signal_main(kCounted); }, "10000");
    });
  }
}

TEST_CASE("a signal to a job that shares our group reaches its session, each process once") {
  in_child(
      [] { expect_counts(false, [](ProcessTree& tree) { tree.signal_job(kCounted); }, "11101"); });
}

TEST_CASE("a signal to a job with a group of its own is one to that group") {
  in_child(
      [] { expect_counts(true, [](ProcessTree& tree) { tree.signal_job(kCounted); }, "11001"); });
}

TEST_CASE("each signal to the job is delivered again") {
  in_child([] {
    const auto thrice = [](ProcessTree& tree) {
      for (int i = 0; i < 3; ++i) tree.signal_job(kCounted);
    };
    expect_counts(false, thrice, "33303");
  });
}

TEST_CASE("a signal to all reaches every descendant once, whatever session it is in") {
  for (const bool own_group : {false, true}) {
    CAPTURE(own_group);
    in_child([own_group] {
      expect_counts(own_group, [](ProcessTree& tree) { tree.signal_all(kCounted); }, "11111");
    });
  }
}

TEST_CASE("once main has ended the rest of its job still gets signals") {
  in_child([] {
    const test::Shared<Members> members;
    ProcessTree tree(start_members(*members, false), false);
    (*members)[kMain].last = 1;  // it will not answer
    tree.signal_main(SIGKILL);
    EXPECT_IN_CHILD(wait_until([&] { return tree.census().main_ended; }));
    tree.signal_job(kCounted);
    EXPECT_IN_CHILD(counts(*members) == "01101");
    end_all(tree);
  });
}

TEST_CASE("nothing outside the tree gets a signal") {
  in_child([] {
    const test::Shared<Members> members;
    sigset_t counted;
    ::sigemptyset(&counted);
    ::sigaddset(&counted, kCounted);
    ::sigprocmask(SIG_BLOCK, &counted, nullptr);
    ProcessTree tree(start_members(*members, false), false);
    tree.signal_job(kCounted);
    tree.signal_all(kCounted);
    tree.signal_main(kCounted);
    sigset_t pending;
    ::sigpending(&pending);
    EXPECT_IN_CHILD(::sigismember(&pending, kCounted) == 0);
    end_all(tree);
  });
}

TEST_CASE("main's stops and continuations are told one by one, and only once") {
  in_child([] {
    const pid_t main = fork_off([] {
      for (;;) ::pause();
    });
    ProcessTree tree(main, false);
    std::optional<bool> change;
    const auto changed = [&] {
      change = tree.main_stopped_changed();
      return change.has_value();
    };
    EXPECT_IN_CHILD(!changed());
    ::kill(main, SIGSTOP);
    EXPECT_IN_CHILD(wait_until(changed));
    EXPECT_IN_CHILD(change == true);
    EXPECT_IN_CHILD(!changed());
    EXPECT_IN_CHILD(!tree.census().main_ended);
    ::kill(main, SIGCONT);
    EXPECT_IN_CHILD(wait_until(changed));
    EXPECT_IN_CHILD(change == false);
    EXPECT_IN_CHILD(!changed());
    ::kill(main, SIGKILL);
    EXPECT_IN_CHILD(wait_until([&] { return tree.census().main_ended; }));
    EXPECT_IN_CHILD(!changed());
    // Looking for stops must not have eaten the end.
    EXPECT_IN_CHILD(tree.main_end() && tree.main_end()->value == SIGKILL);
  });
}

TEST_CASE("a stopped member is killed like any other") {
  in_child([] {
    const test::Shared<Members> members;
    ProcessTree tree(start_members(*members, false), false);
    for (const Member& member : *members) {
      ::kill(member.pid, SIGSTOP);
      EXPECT_IN_CHILD(wait_until([&] {
        const auto stat = test::process_stat(member.pid);
        return stat && stat->state == 'T';
      }));
    }
    end_all(tree);
  });
}

}  // namespace
}  // namespace redlock::os
