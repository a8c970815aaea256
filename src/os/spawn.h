// Starts COMMAND: everything between fork and exec.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "os/signals.h"

namespace redlock::os {

struct SpawnSpec {
  /// Both end with nullptr; argv[0] is looked up in PATH as the shell does.
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  /// Room within envp for the child's pid in decimal digits (12 bytes), if it is wanted there.
  char* listen_pid = nullptr;
  InheritedSignals signals;
  /// Make it the leader of a process group of its own.
  bool own_group = false;
  /// CLOCK_BOOTTIME in nanoseconds; looked at immediately before exec.
  const std::atomic<std::int64_t>* latest_start = nullptr;
};

enum class SpawnOutcome {
  started,      ///< exec succeeded
  too_late,     ///< latest_start had passed; nothing was run
  exec_failed,  ///< error: errno
  fork_failed,  ///< error: errno
};

struct SpawnResult {
  SpawnOutcome outcome = SpawnOutcome::fork_failed;
  pid_t pid = 0;
  int error = 0;
};

/// Returns when exec has succeeded or failed. The child dies with the calling process (SIGKILL). It
/// gets this process's standard descriptors, directory and umask, and the signals of `signals`.
SpawnResult spawn(const SpawnSpec& spec);

}  // namespace redlock::os
