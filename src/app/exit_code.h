// From what a run amounted to, to how the process ends. The table is contract, README and man page
// alike.
#pragma once

#include "core/supervision.h"

namespace redlock::app {

/// Our own exit statuses: sysexits(3) for failures before COMMAND, timeout(1)'s range after.
enum ExitCode : int {
  kExitUsage = 64,
  kExitUnavailable = 69,
  kExitInternal = 70,
  kExitOsError = 71,
  kExitHeld = 75,
  kExitDenied = 77,
  kExitConfig = 78,
  kExitLost = 122,
  kExitSurvivors = 123,
  kExitMaxRun = 124,
  kExitNotExecutable = 126,
  kExitNotFound = 127,
};

/// How the process is to end: by `signal` unless that is 0; `code` otherwise, and where a signal
/// does not end it.
struct ProcessEnd {
  int code = 0;
  int signal = 0;
};

/// `held_code`: -E.
ProcessEnd process_end(const core::Verdict& verdict, int held_code);

}  // namespace redlock::app
