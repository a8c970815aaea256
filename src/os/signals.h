// Signals as this program wants them: blocked from the first moment, read from a descriptor, and
// handed to COMMAND exactly as they were inherited. No handlers anywhere.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace redlock::os {

/// How the process found its signals.
struct InheritedSignals {
  sigset_t mask{};
  sigset_t ignored{};
};

/// Blocks every signal that can be blocked, but for the ones that report bugs, and makes SIGCHLD
/// reach us even when our parent ignored it (the exit status of a child would be lost). To be
/// called before anything else.
InheritedSignals block_signals();

/// Puts back what block_signals() changed. Async-signal-safe; for the child before exec.
void restore_signals(const InheritedSignals& inherited);

struct Signal {
  int number = 0;
  /// Sent by the kernel: by a terminal, its hang-up, or a timer.
  bool from_kernel = false;
  /// The sender; 0 when the kernel sent it or the sender is in another pid namespace.
  pid_t sender = 0;
};

/// The blocked signals as they arrive. Signals that were ignored when the program started stay
/// ignored: they are not read here (nohup and background jobs rely on it).
class SignalInbox {
 public:
  explicit SignalInbox(const InheritedSignals& inherited);

  int fd() const { return fd_.get(); }
  /// The next pending signal, if there is one. Several of one kind may have become one.
  std::optional<Signal> next();

 private:
  UniqueFd fd_;
};

/// Ends the process by `signal`, without a core file, so that whoever waits for us sees what ended
/// COMMAND. Returns only where that cannot be done (as init of a pid namespace).
void die_by(int signal);

}  // namespace redlock::os
