#include "os/spawn.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os/clock.h"

namespace redlock::os {
namespace {

constexpr int kTooLate = -1;

/// Runs on the parent's memory (vfork), so it calls nothing that keeps state, and reports through
/// `error` what an exec-error pipe would carry otherwise.
[[noreturn]] void become_command(const SpawnSpec& spec, pid_t parent, volatile int* error) {
  if (spec.own_group) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // The parent may have died before that took effect. Its pid, not 1, is what to compare with:
  // whoever adopts us may be a subreaper, and the parent may be init of its namespace.
  if (::getppid() != parent) ::_exit(71);
  if (spec.listen_pid != nullptr) std::snprintf(spec.listen_pid, 12, "%d", ::getpid());
  restore_signals(spec.signals);
  if (boot_now().ns() > spec.latest_start->load()) {
    *error = kTooLate;
    ::_exit(71);
  }
  ::execvpe(spec.argv[0], spec.argv, spec.envp);
  *error = errno;
  ::_exit(127);
}

}  // namespace

/// vfork and not fork: copying the page tables and then both processes' pages costs a millisecond.
/// Not posix_spawn: it cannot tell a failed exec from a command that exits with 127, nor set the
/// parent-death signal. While exec hangs on a dead file system the caller hangs too, and takes the
/// child with it when it is killed.
SpawnResult spawn(const SpawnSpec& spec) {
  volatile int error = 0;
  const pid_t parent = ::getpid();
  const pid_t pid = ::vfork();
  if (pid == 0) become_command(spec, parent, &error);
  if (pid < 0) return {.outcome = SpawnOutcome::fork_failed, .error = errno};
  if (error == 0) return {.outcome = SpawnOutcome::started, .pid = pid};
  ::waitpid(pid, nullptr, 0);
  if (error == kTooLate) return {.outcome = SpawnOutcome::too_late};
  return {.outcome = SpawnOutcome::exec_failed, .error = error};
}

}  // namespace redlock::os
