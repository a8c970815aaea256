#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "os/signals.h"
#include "support/forked.h"
#include "support/temp_dir.h"

TEST_SUITE_BEGIN("os.signals");

namespace redlock::os {
namespace {

constexpr int kBugs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

bool is_bug(int signal) {
  for (const int bug : kBugs) {
    if (signal == bug) return true;
  }
  return false;
}

/// SIGKILL and SIGSTOP cannot be blocked, 32 and 33 are the C library's.
bool can_be_blocked(int signal) {
  return signal != SIGKILL && signal != SIGSTOP && signal != 32 && signal != 33;
}

sigset_t current_mask() {
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

/// A known start, whatever the test runner was given: nothing blocked or ignored but these.
void start_with(std::initializer_list<int> blocked, std::initializer_list<int> ignored) {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_DFL);
  for (const int signal : ignored) ::signal(signal, SIG_IGN);
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : blocked) ::sigaddset(&mask, signal);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

TEST_CASE("everything is blocked but what reports bugs, and the mask found is told") {
  test::in_child([] {
    start_with({SIGUSR1, SIGTERM}, {SIGHUP});
    const InheritedSignals inherited = block_signals();
    const sigset_t mask = current_mask();
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
      if (!can_be_blocked(signal)) continue;
      EXPECT_IN_CHILD((::sigismember(&mask, signal) == 1) == !is_bug(signal));
      EXPECT_IN_CHILD((::sigismember(&inherited.mask, signal) == 1) ==
                      (signal == SIGUSR1 || signal == SIGTERM));
      EXPECT_IN_CHILD((::sigismember(&inherited.ignored, signal) == 1) == (signal == SIGHUP));
    }
    EXPECT_IN_CHILD(is_ignored(SIGHUP));
  });
}

TEST_CASE("the inherited mask is put back exactly, bugs and all") {
  test::in_child([] {
    start_with({SIGUSR1, SIGSEGV, SIGRTMIN, SIGCHLD}, {});
    const sigset_t before = current_mask();
    restore_signals(block_signals());
    const sigset_t after = current_mask();
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
      EXPECT_IN_CHILD(::sigismember(&before, signal) == ::sigismember(&after, signal));
    }
    EXPECT_IN_CHILD(::sigismember(&after, SIGUSR1) == 1);
    EXPECT_IN_CHILD(::sigismember(&after, SIGTERM) == 0);
  });
}

TEST_CASE("an ignored SIGCHLD is forced to default for us and given back to a child") {
  test::in_child([] {
    start_with({}, {SIGCHLD});
    const InheritedSignals inherited = block_signals();
    EXPECT_IN_CHILD(!is_ignored(SIGCHLD));
    EXPECT_IN_CHILD(::sigismember(&inherited.ignored, SIGCHLD) == 1);
    const pid_t child = test::fork_off([&inherited] {
      restore_signals(inherited);
      ::_exit(is_ignored(SIGCHLD) ? 5 : 6);
    });
    int status = 0;
    // With SIGCHLD ignored the status would be lost and this would fail with ECHILD.
    EXPECT_IN_CHILD(::waitpid(child, &status, 0) == child);
    EXPECT_IN_CHILD(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  });
  test::in_child([] {
    start_with({}, {});
    const InheritedSignals inherited = block_signals();
    restore_signals(inherited);
    EXPECT_IN_CHILD(!is_ignored(SIGCHLD));
  });
}

TEST_CASE("signals arrive with who sent them, each kind once, lowest number first") {
  test::in_child([] {
    start_with({}, {});
    SignalInbox inbox(block_signals());
    EXPECT_IN_CHILD(!inbox.next());
    ::kill(::getpid(), SIGTERM);
    ::kill(::getpid(), SIGTERM);
    ::kill(::getpid(), SIGHUP);
    const std::optional<Signal> hup = inbox.next();
    EXPECT_IN_CHILD(hup && hup->number == SIGHUP);
    EXPECT_IN_CHILD(hup && !hup->from_kernel && hup->sender == ::getpid());
    const std::optional<Signal> term = inbox.next();
    EXPECT_IN_CHILD(term && term->number == SIGTERM && term->sender == ::getpid());
    EXPECT_IN_CHILD(!inbox.next());
  });
}

TEST_CASE("a signal of another process names that process, one of the kernel none") {
  test::in_child([] {
    start_with({}, {});
    SignalInbox inbox(block_signals());
    const pid_t parent = ::getpid();
    const pid_t child = test::fork_off([parent] { ::kill(parent, SIGUSR2); });
    int status = 0;
    EXPECT_IN_CHILD(::waitpid(child, &status, 0) == child);
    const std::optional<Signal> usr2 = inbox.next();
    EXPECT_IN_CHILD(usr2 && usr2->number == SIGUSR2 && usr2->sender == child && !usr2->from_kernel);
    const std::optional<Signal> chld = inbox.next();
    EXPECT_IN_CHILD(chld && chld->number == SIGCHLD && chld->from_kernel && chld->sender == 0);
  });
}

TEST_CASE("sigqueue is a sender like any other") {
  test::in_child([] {
    start_with({}, {});
    SignalInbox inbox(block_signals());
    ::sigqueue(::getpid(), SIGUSR1, sigval{});
    const std::optional<Signal> usr1 = inbox.next();
    EXPECT_IN_CHILD(usr1 && !usr1->from_kernel && usr1->sender == ::getpid());
  });
}

TEST_CASE("signals that were ignored are not read, except SIGCHLD") {
  test::in_child([] {
    start_with({}, {SIGHUP, SIGINT, SIGCHLD});
    SignalInbox inbox(block_signals());
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGINT);
    ::kill(::getpid(), SIGCHLD);
    ::kill(::getpid(), SIGQUIT);
    const std::optional<Signal> first = inbox.next();
    EXPECT_IN_CHILD(first && first->number == SIGQUIT);
    const std::optional<Signal> second = inbox.next();
    EXPECT_IN_CHILD(second && second->number == SIGCHLD);
    EXPECT_IN_CHILD(!inbox.next());
  });
}

TEST_CASE("what is about our own use of terminals and sockets is blocked and never read") {
  test::in_child([] {
    start_with({}, {});
    SignalInbox inbox(block_signals());
    for (const int signal : {SIGTTIN, SIGTTOU, SIGPIPE, SIGURG}) ::kill(::getpid(), signal);
    EXPECT_IN_CHILD(!inbox.next());
  });
}

TEST_CASE("the inbox is not inherited") {
  test::in_child([] {
    const SignalInbox inbox(block_signals());
    EXPECT_IN_CHILD((::fcntl(inbox.fd(), F_GETFD) & FD_CLOEXEC) != 0);
  });
}

TEST_CASE("a bug still ends the process while all else is blocked") {
  test::in_child(
      [] {
        start_with({}, {});
        ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        block_signals();
        ::kill(::getpid(), SIGTERM);
        ::kill(::getpid(), SIGSEGV);
      },
      "signal 11");
}

TEST_CASE("die_by ends the process by that signal, blocked or ignored as it may have been") {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGKILL, SIGUSR1, SIGALRM, SIGPIPE, SIGRTMAX}) {
    CAPTURE(signal);
    test::in_child(
        [signal] {
          start_with({}, {});
          ::signal(signal, SIG_IGN);
          block_signals();
          die_by(signal);
        },
        "signal " + std::to_string(signal));
  }
}

TEST_CASE("die_by leaves no core, where the same signal raised otherwise would") {
  const test::TempDir directory;  // for the core of the comparison
  const auto allow_cores = [&directory] {
    start_with({}, {});
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_CORE, &limit);
    EXPECT_IN_CHILD(::chdir(directory.path().c_str()) == 0);
  };
  for (const int signal : {SIGQUIT, SIGSEGV, SIGABRT}) {
    CAPTURE(signal);
    test::in_child(
        [&] {
          allow_cores();
          block_signals();
          die_by(signal);
        },
        "signal " + std::to_string(signal));
  }
  const std::string otherwise = test::findings_of([&] {
    allow_cores();
    ::raise(SIGQUIT);
  });
  WARN_MESSAGE(otherwise == "signal 3 with core", "no cores on this machine: nothing was compared");
}

}  // namespace
}  // namespace redlock::os
