#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "os/clock.h"
#include "os/process_tree.h"
#include "support/forked.h"
#include "support/process.h"
#include "support/wait.h"

TEST_SUITE_BEGIN("os.process_tree");

namespace redlock::os {
namespace {

using test::fork_off;
using test::in_child;
using test::wait_or_exit;
using test::wait_until;

/// What the processes of one tree tell the test.
struct Board {
  std::array<std::atomic<pid_t>, 16> pids{};
  std::atomic<int> forks{0};
  std::atomic<bool> go{false};

  bool all_there(std::size_t count) const {
    return std::all_of(pids.begin(), pids.begin() + static_cast<std::ptrdiff_t>(count),
                       [](const std::atomic<pid_t>& pid) { return pid.load() > 0; });
  }
};

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

/// Signs in at `place` and sleeps.
void sleep_at(Board& board, std::size_t place) {
  board.pids[place] = ::getpid();
  sleep_for_ever();
}

bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

bool has_no_children() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

std::set<pid_t> living(ProcessTree& tree) {
  std::array<pid_t, 64> list{};
  const std::size_t count = tree.living(list.data(), list.size());
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// As the guard does it: kill and count until nothing is left.
bool kill_until_empty(ProcessTree& tree) {
  return wait_until([&tree] {
    tree.kill_all();
    return tree.census().tree_empty;
  });
}

bool wait_for_census(ProcessTree& tree, const std::function<bool(const TreeCensus&)>& fact) {
  return wait_until([&] { return fact(tree.census()); });
}

TEST_CASE("killing reaches every shape of descendant, with and without a group of its own") {
  for (const bool own_group : {false, true}) {
    CAPTURE(own_group);
    in_child([own_group] {
      const test::Shared<Board> shared;
      Board& board = *shared;
      const pid_t main = fork_off([&] {
        if (own_group) ::setpgid(0, 0);
        fork_off([&] { sleep_at(board, 0); });
        fork_off([&] {  // a session of its own
          ::setsid();
          sleep_at(board, 1);
        });
        const pid_t middle = fork_off([&] {  // a daemon: forked twice, its parent gone
          ::setsid();
          fork_off([&] { sleep_at(board, 2); });
        });
        ::waitpid(middle, nullptr, 0);
        const pid_t stopped = fork_off([&] { sleep_at(board, 3); });
        fork_off([&] {  // deaf to everything that can be ignored
          for (int signal = 1; signal <= SIGRTMAX; ++signal) {
            if (signal != SIGALRM) ::signal(signal, SIG_IGN);  // that one ends a failed test
          }
          sleep_at(board, 4);
        });
        fork_off([&] {  // deep, each in a group of its own
          ::setpgid(0, 0);
          fork_off([&] {
            ::setpgid(0, 0);
            fork_off([&] { sleep_at(board, 5); });
            sleep_at(board, 6);
          });
          sleep_at(board, 7);
        });
        wait_or_exit([&] { return board.pids[3] > 0; });
        ::kill(stopped, SIGSTOP);
        sleep_at(board, 8);
      });
      EXPECT_IN_CHILD(wait_until([&] { return board.all_there(9); }));
      ProcessTree tree(main, own_group);
      const std::set<pid_t> alive = living(tree);
      EXPECT_IN_CHILD(alive.size() == 9);
      for (std::size_t i = 0; i < 9; ++i) EXPECT_IN_CHILD(alive.contains(board.pids[i]));
      EXPECT_IN_CHILD(kill_until_empty(tree));
      for (std::size_t i = 0; i < 9; ++i) EXPECT_IN_CHILD(is_gone(board.pids[i]));
      EXPECT_IN_CHILD(has_no_children());
      EXPECT_IN_CHILD(living(tree).empty());
      EXPECT_IN_CHILD(tree.main_reaped());
    });
  }
}

/// Forks and ends, every second one in a session of its own; blows over by itself at `end`, in case
/// the test that has to end it is itself killed.
[[noreturn]] void storm(Board& board, TimePoint end) {
  while (boot_now() < end) {
    const pid_t next = ::fork();
    if (next > 0) ::_exit(0);
    if (next == 0 && ++board.forks % 2 == 0) ::setsid();
    if (next < 0) ::usleep(1000);
  }
  ::_exit(0);
}

TEST_CASE("a storm of processes that fork, leave the session and end is worn down") {
  for (const bool own_group : {false, true}) {
    CAPTURE(own_group);
    in_child([own_group] {
      const test::Shared<Board> board;
      const TimePoint end = boot_now() + Duration::seconds(15);
      const pid_t main = fork_off([&] {
        if (own_group) ::setpgid(0, 0);
        for (int i = 0; i < 8; ++i) fork_off([&] { storm(*board, end); });
        board->go = true;
        sleep_for_ever();
      });
      EXPECT_IN_CHILD(wait_until([&] { return board->go && board->forks > 200; }));
      ProcessTree tree(main, own_group);
      EXPECT_IN_CHILD(kill_until_empty(tree));
      EXPECT_IN_CHILD(has_no_children());
      const int forks = board->forks;
      EXPECT_IN_CHILD(
          test::holds_for(test::milliseconds(20), [&] { return board->forks == forks; }));
    });
  }
}

TEST_CASE("a census comes to an end although what left the job forks and forks") {
  in_child([] {
    const test::Shared<Board> board;
    ProcessTree tree(fork_off([&] {
                       for (int i = 0; i < 8; ++i) {
                         fork_off([&] {
                           ::setsid();
                           storm(*board, boot_now() + Duration::seconds(15));
                         });
                       }
                       wait_or_exit([&] { return board->forks > 200; });
                     }),
                     false);
    EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.main_ended; }));
    const test::Stopwatch watch;
    for (int i = 0; i < 20; ++i) EXPECT_IN_CHILD(!tree.census().tree_empty);
    EXPECT_IN_CHILD(watch.elapsed() < test::milliseconds(5000));
    EXPECT_IN_CHILD(kill_until_empty(tree));
  });
}

TEST_CASE("main's end is reported exactly, by status or signal") {
  for (const int code : {0, 1, 71, 128, 143, 255}) {
    CAPTURE(code);
    in_child([code] {
      ProcessTree tree(fork_off([code] { ::_exit(code); }), false);
      EXPECT_IN_CHILD(!tree.main_end());
      EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.main_ended; }));
      EXPECT_IN_CHILD(tree.main_end() && !tree.main_end()->signalled);
      EXPECT_IN_CHILD(tree.main_end() && tree.main_end()->value == code);
      EXPECT_IN_CHILD(tree.main_end() && !tree.main_end()->dumped_core);
    });
  }
  for (const int signal : {SIGHUP, SIGKILL, SIGTERM, SIGRTMAX}) {
    CAPTURE(signal);
    in_child([signal] {
      ProcessTree tree(fork_off(sleep_for_ever), false);
      tree.signal_main(signal);
      EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.main_ended; }));
      EXPECT_IN_CHILD(tree.main_end() && tree.main_end()->signalled);
      EXPECT_IN_CHILD(tree.main_end() && tree.main_end()->value == signal);
    });
  }
}

TEST_CASE("while main runs nothing is empty, whoever else ends") {
  in_child([] {
    const test::Shared<Board> board;
    const pid_t main = fork_off([&] {
      board->pids[0] = fork_off([] {});
      sleep_at(*board, 1);
    });
    const pid_t other = fork_off([] {});
    EXPECT_IN_CHILD(wait_until([&] { return board->all_there(2); }));
    ProcessTree tree(main, false);
    // The other child is reaped along the way.
    EXPECT_IN_CHILD(wait_until([&] {
      const TreeCensus census = tree.census();
      EXPECT_IN_CHILD(!census.main_ended && !census.job_empty && !census.tree_empty);
      return is_gone(other);
    }));
    EXPECT_IN_CHILD(!tree.main_end());
    EXPECT_IN_CHILD(kill_until_empty(tree));
  });
}

TEST_CASE("main stays unreaped, its pid and group pinned, while others live") {
  in_child([] {
    const test::Shared<Board> board;
    const pid_t main = fork_off([&] {
      ::setpgid(0, 0);
      fork_off([&] {
        ::setsid();
        sleep_at(*board, 0);
      });
      wait_or_exit([&] { return board->all_there(1); });
      ::_exit(5);
    });
    ProcessTree tree(main, true);
    EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.main_ended; }));
    for (int i = 0; i < 10; ++i) {
      const TreeCensus census = tree.census();
      // A process in a session of its own has left the job, not the tree.
      EXPECT_IN_CHILD(census.main_ended && census.job_empty && !census.tree_empty);
    }
    EXPECT_IN_CHILD(!tree.main_reaped());
    const auto stat = test::process_stat(main);
    EXPECT_IN_CHILD(stat && stat->state == 'Z');
    EXPECT_IN_CHILD(living(tree) == std::set<pid_t>{board->pids[0]});
    ::kill(board->pids[0], SIGKILL);
    EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.tree_empty; }));
    EXPECT_IN_CHILD(tree.main_reaped() && is_gone(main));
    // What was seen of it stays known.
    EXPECT_IN_CHILD(tree.main_end() && tree.main_end()->value == 5);
  });
}

TEST_CASE("the job is not empty while a child of main lives, or a child of that") {
  in_child([] {
    const test::Shared<Board> board;
    const pid_t main = fork_off([&] {
      fork_off([&] {
        fork_off([&] { sleep_at(*board, 0); });
        sleep_at(*board, 1);
      });
      wait_or_exit([&] { return board->all_there(2); });
    });
    ProcessTree tree(main, false);
    const auto main_over = [](const auto& c) { return c.main_ended; };
    EXPECT_IN_CHILD(wait_for_census(tree, main_over));
    // The child was adopted by us; its own child tells us nothing when it ends.
    const TreeCensus both = tree.census();
    EXPECT_IN_CHILD(!both.job_empty && !both.tree_empty);
    ::kill(board->pids[1], SIGKILL);
    EXPECT_IN_CHILD(wait_until([&] {
      const TreeCensus adopted = tree.census();
      EXPECT_IN_CHILD(!adopted.job_empty && !adopted.tree_empty);
      return is_gone(board->pids[1]);
    }));
    ::kill(board->pids[0], SIGKILL);
    EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.tree_empty; }));
    const TreeCensus none = tree.census();
    EXPECT_IN_CHILD(none.main_ended && none.job_empty && none.tree_empty);
  });
}

TEST_CASE("a tree without a main is only a tree") {
  in_child([] {
    fork_off(sleep_for_ever);
    fork_off(sleep_for_ever);
    ProcessTree tree(0, false);
    const TreeCensus census = tree.census();
    EXPECT_IN_CHILD(census.main_ended && !census.tree_empty);
    tree.signal_main(SIGKILL);
    EXPECT_IN_CHILD(living(tree).size() == 2);
    EXPECT_IN_CHILD(kill_until_empty(tree));
    EXPECT_IN_CHILD(!tree.main_end());
    EXPECT_IN_CHILD(has_no_children());
  });
}

TEST_CASE("an empty tree is empty, and signals to it go nowhere") {
  in_child([] {
    ProcessTree tree(0, false);
    EXPECT_IN_CHILD(tree.census().tree_empty);
    EXPECT_IN_CHILD(tree.census().job_empty);
    tree.signal_job(SIGKILL);
    tree.signal_all(SIGKILL);
    EXPECT_IN_CHILD(tree.kill_all() == 0);
  });
}

TEST_CASE("after main is reaped its pid and group are not signalled any more") {
  in_child([] {
    ProcessTree tree(fork_off([] { ::setpgid(0, 0); }), true);
    EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.tree_empty; }));
    EXPECT_IN_CHILD(tree.main_reaped());
    // Not kill(-1) nor kill(0): this process and the test would not live to see it.
    tree.signal_main(SIGKILL);
    tree.signal_job(SIGKILL);
    EXPECT_IN_CHILD(tree.kill_all() == 0);
  });
}

TEST_CASE("no more of the living are written than there is room for") {
  in_child([] {
    for (int i = 0; i < 5; ++i) fork_off(sleep_for_ever);
    ProcessTree tree(0, false);
    std::array<pid_t, 8> list{};
    EXPECT_IN_CHILD(tree.living(list.data(), 3) == 3);
    EXPECT_IN_CHILD(list[2] > 0 && list[3] == 0);
    EXPECT_IN_CHILD(tree.living(list.data(), list.size()) == 5);
    EXPECT_IN_CHILD(kill_until_empty(tree));
  });
}

TEST_CASE("what may not be killed is counted, and is not taken for dead") {
  if (::getuid() != 0) {
    MESSAGE("not root: nobody to become");
    return;
  }
  in_child([] {
    const test::Shared<Board> board;
    const pid_t main = fork_off([&] {
      fork_off([&] {
        board->pids[0] = ::getpid();
        wait_or_exit([&] { return board->go.load(); });
      });
      board->pids[1] = ::getpid();
      wait_or_exit([&] { return board->go.load(); });
    });
    EXPECT_IN_CHILD(wait_until([&] { return board->all_there(2); }));
    EXPECT_IN_CHILD(::setresuid(65534, 65534, 65534) == 0);
    ProcessTree tree(main, false);
    EXPECT_IN_CHILD(tree.kill_all() == 2);
    EXPECT_IN_CHILD(!tree.census().main_ended);
    EXPECT_IN_CHILD(living(tree) == std::set<pid_t>{board->pids[0], board->pids[1]});
    board->go = true;
    EXPECT_IN_CHILD(wait_for_census(tree, [](const auto& c) { return c.tree_empty; }));
    EXPECT_IN_CHILD(tree.main_end() && !tree.main_end()->signalled);
  });
}

TEST_CASE("a process descends from its parents and from itself, and from nobody else") {
  in_child([] {
    const test::Shared<Board> board;
    const pid_t child = fork_off([&] {
      fork_off([&] { sleep_at(*board, 0); });
      sleep_at(*board, 1);
    });
    const pid_t other = fork_off(sleep_for_ever);
    EXPECT_IN_CHILD(wait_until([&] { return board->all_there(2); }));
    const pid_t grandchild = board->pids[0];
    EXPECT_IN_CHILD(descends_from(grandchild, child));
    EXPECT_IN_CHILD(descends_from(grandchild, ::getpid()));
    EXPECT_IN_CHILD(descends_from(grandchild, ::getppid()));
    EXPECT_IN_CHILD(descends_from(child, child));
    EXPECT_IN_CHILD(descends_from(child, 1));
    EXPECT_IN_CHILD(!descends_from(child, grandchild));
    EXPECT_IN_CHILD(!descends_from(grandchild, other));
    EXPECT_IN_CHILD(!descends_from(::getpid(), child));
    EXPECT_IN_CHILD(!descends_from(0, child));
    EXPECT_IN_CHILD(!descends_from(0, 0));
    EXPECT_IN_CHILD(!descends_from(-1, child));
    ProcessTree tree(0, false);
    EXPECT_IN_CHILD(kill_until_empty(tree));
    EXPECT_IN_CHILD(!descends_from(grandchild, ::getpid()));
  });
}

}  // namespace
}  // namespace redlock::os
