#include "os/signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/assert.h"

namespace redlock::os {
namespace {

constexpr int kBugSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
/// Never read: about our own use of the terminal and of sockets.
constexpr int kUnreadSignals[] = {SIGTTIN, SIGTTOU, SIGPIPE, SIGURG};

void set_disposition(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

InheritedSignals block_signals() {
  InheritedSignals inherited;
  sigset_t blocked;
  ::sigfillset(&blocked);
  for (const int signal : kBugSignals) ::sigdelset(&blocked, signal);
  RR_ASSERT(::sigprocmask(SIG_SETMASK, &blocked, &inherited.mask) == 0);
  ::sigemptyset(&inherited.ignored);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action{};
    // Fails for the two that the C library keeps to itself.
    if (::sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN) ::sigaddset(&inherited.ignored, signal);
  }
  if (::sigismember(&inherited.ignored, SIGCHLD) == 1) set_disposition(SIGCHLD, SIG_DFL);
  return inherited;
}

void restore_signals(const InheritedSignals& inherited) {
  if (::sigismember(&inherited.ignored, SIGCHLD) == 1) set_disposition(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
}

SignalInbox::SignalInbox(const InheritedSignals& inherited) {
  sigset_t read;
  ::sigfillset(&read);
  for (const int signal : kBugSignals) ::sigdelset(&read, signal);
  for (const int signal : kUnreadSignals) ::sigdelset(&read, signal);
  // A blocked signal reaches a signalfd even when it is ignored, so this has to be said here.
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal != SIGCHLD && ::sigismember(&inherited.ignored, signal) == 1) {
      ::sigdelset(&read, signal);
    }
  }
  fd_.reset(::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
  RR_ASSERT(fd_);
}

std::optional<Signal> SignalInbox::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return Signal{.number = static_cast<int>(info.ssi_signo),
                .from_kernel = info.ssi_code > 0,
                .sender = info.ssi_code > 0 ? 0 : static_cast<pid_t>(info.ssi_pid)};
}

void die_by(int signal) {
  // A core limit of zero would not keep a core_pattern pipe from being run.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  set_disposition(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
}

}  // namespace redlock::os
