// The guard: a process of its own between the front and COMMAND. It starts COMMAND, enforces the
// deadlines in the shared page, and outlives the front long enough to take COMMAND's whole tree
// with it. It knows no Redis, writes to no stderr, and allocates nothing while it guards.
#pragma once

#include "app/guard_protocol.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "os/signals.h"

namespace redlock::app {

/// What the guard starts and how it stops it. Everything is prepared before the guard is forked.
struct GuardSpec {
  /// Both end with nullptr.
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  /// Where in envp the value of LISTEN_PID stands if it named this process, with room for any pid:
  /// it is to name COMMAND.
  char* listen_pid = nullptr;
  os::InheritedSignals signals;
  /// COMMAND gets a process group of its own; else it shares ours and the terminal's job control.
  bool own_group = true;
  int stop_signal = 0;
  Duration kill_after;
  Duration kill_margin;
};

/// What connects the guard with the front.
struct GuardLink {
  UniqueFd socket;
  /// A CLOCK_BOOTTIME timer that stands at page.stop_at: the front moves it along with the page, so
  /// that a guard whose lease is renewed never has to wake up. If the front does not, it fires at
  /// an earlier deadline, which is safe.
  UniqueFd stop_timer;
};

/// The whole life of the guard, from just after its fork.
[[noreturn]] void run_guard(const GuardSpec& spec, GuardLink link, GuardPage& page);

}  // namespace redlock::app
