#include "os/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "os/procfs.h"

namespace redlock::os {

ProcessTree::ProcessTree(pid_t main, bool own_group)
    : main_(main),
      session_(main == 0 ? 0 : ::getsid(main)),
      own_group_(own_group),
      main_reaped_(main == 0) {
  // Nothing below may ever become kill(-1) or kill(0).
  RR_ASSERT(main == 0 || main > 1);
}

bool ProcessTree::in_job(pid_t pid) const {
  return ::getsid(pid) == session_;
}

void ProcessTree::list_children() {
  std::array<pid_t, 1024> children;
  const std::size_t found = children_of(::getpid(), children.data(), children.size());
  count_ = 0;
  for (std::size_t i = 0; i < found; ++i) members_[count_++] = {children[i], ::getpid()};
}

void ProcessTree::list_all() {
  list_children();
  std::array<pid_t, 1024> children;
  for (std::size_t next = 0; next < count_; ++next) {
    const pid_t parent = members_[next].pid;
    const std::size_t found = children_of(parent, children.data(), children.size());
    for (std::size_t i = 0; i < found && count_ < kCapacity; ++i) {
      members_[count_++] = {children[i], parent};
    }
  }
}

/// False only when the process lives and may not be signalled by us.
bool ProcessTree::deliver(const Member& member, int signal) const {
  if (member.pid <= 1) return true;
  if (member.parent == ::getpid()) {
    return ::kill(member.pid, signal) == 0 || errno != EPERM;
  }
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, member.pid, 0)));
  // Between listing and now the pid may have passed to a stranger; the handle cannot any more.
  const pid_t parent = process_stat(member.pid).parent;
  if (parent != member.parent && parent != ::getpid()) return true;
  if (handle) {
    return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0 ||
           errno != EPERM;
  }
  // A kernel without pidfds.
  return ::kill(member.pid, signal) == 0 || errno != EPERM;
}

void ProcessTree::signal_main(int signal) {
  if (!main_reaped_) ::kill(main_, signal);
}

void ProcessTree::signal_job(int signal) {
  if (own_group_ && !main_reaped_) {
    ::kill(-main_, signal);
    return;
  }
  signal_main(signal);
  list_all();
  for (std::size_t i = 0; i < count_; ++i) {
    if (members_[i].pid != main_ && in_job(members_[i].pid)) deliver(members_[i], signal);
  }
}

void ProcessTree::signal_all(int signal) {
  list_all();
  for (std::size_t i = 0; i < count_; ++i) deliver(members_[i], signal);
}

int ProcessTree::kill_all() {
  // The group first: the kernel walks it in one pass that a fork cannot slip through.
  if (own_group_ && !main_reaped_) ::kill(-main_, SIGKILL);
  list_all();
  int denied = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!deliver(members_[i], SIGKILL)) ++denied;
  }
  return denied;
}

void ProcessTree::note_main_end() {
  if (main_end_ || main_reaped_) return;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(main_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (info.si_pid != main_) return;
  main_end_ = ChildEnd{.signalled = info.si_code != CLD_EXITED,
                       .value = info.si_status,
                       .dumped_core = info.si_code == CLD_DUMPED};
}

std::optional<bool> ProcessTree::main_stopped_changed() {
  if (main_reaped_) return std::nullopt;
  siginfo_t info{};
  const int kinds = WSTOPPED | WCONTINUED | WNOHANG;
  if (::waitid(P_PID, static_cast<id_t>(main_), &info, kinds) != 0) return std::nullopt;
  if (info.si_pid != main_) return std::nullopt;
  return info.si_code == CLD_STOPPED;
}

TreeCensus ProcessTree::census() {
  note_main_end();
  TreeCensus census;
  census.main_ended = main_end_.has_value() || main_reaped_;
  list_children();
  bool others = false;
  for (std::size_t i = 0; i < count_; ++i) {
    const pid_t pid = members_[i].pid;
    if ((pid != main_ || main_reaped_) && ::waitpid(pid, nullptr, WNOHANG) != pid) others = true;
  }
  if (!census.main_ended) return census;
  if (!others) {
    if (!main_reaped_) main_reaped_ = ::waitpid(main_, nullptr, WNOHANG) == main_;
    siginfo_t info{};
    const int probe = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    // Listing children is not atomic; having none to wait for is certain.
    if (probe != 0 && errno == ECHILD) {
      census.tree_empty = true;
      census.job_empty = true;
      return census;
    }
  }
  census.job_empty = !job_lives();
  return census;
}

/// Whether a process of the job is alive. One that moves up to us while we list, because its parent
/// ends, is missed by that listing and found by the next, so "none" is believed only after several.
/// Not until they agree: what left the job may fork for ever.
bool ProcessTree::job_lives() {
  constexpr int kListings = 3;
  for (int listing = 0; listing < kListings; ++listing) {
    list_all();
    for (std::size_t i = 0; i < count_; ++i) {
      if (in_job(members_[i].pid) && process_stat(members_[i].pid).alive()) return true;
    }
  }
  return false;
}

std::size_t ProcessTree::living(pid_t* pids, std::size_t capacity) {
  list_all();
  std::size_t written = 0;
  for (std::size_t i = 0; i < count_ && written < capacity; ++i) {
    if (process_stat(members_[i].pid).alive()) pids[written++] = members_[i].pid;
  }
  return written;
}

bool descends_from(pid_t pid, pid_t ancestor) {
  // A loop can only come from pids that are reused while we climb; no chain is that long.
  for (int step = 0; step < 4096 && pid > 1; ++step) {
    if (pid == ancestor) return true;
    pid = process_stat(pid).parent;
  }
  return pid == ancestor && pid > 0;
}

}  // namespace redlock::os
