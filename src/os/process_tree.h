// Everything that descends from this process, which has to be a child subreaper: whatever COMMAND
// starts ends up below us, however it forks, detaches or daemonises. Lists, signals, kills, reaps.
// Allocates nothing, so that it works when memory is short.
//
// Safety of pids: direct children are ours to reap, so their pids cannot be reused while we look at
// them; COMMAND's is kept unreaped until nothing else is left, which pins its process group too.
// Deeper descendants are signalled through a pidfd after their parent was checked again.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <optional>

namespace redlock::os {

/// How COMMAND ended, or changed.
struct ChildEnd {
  bool signalled = false;
  int value = 0;
  bool dumped_core = false;
};

struct TreeCensus {
  bool main_ended = false;
  /// No process lives that is in COMMAND's session.
  bool job_empty = false;
  /// No process lives at all.
  bool tree_empty = false;
};

class ProcessTree {
 public:
  /// `main` is a child of this process, or 0 when it is not known or not left; `own_group`: it
  /// leads a process group.
  ProcessTree(pid_t main, bool own_group);

  void signal_main(int signal);
  /// To each process of the job once, by its group if it has one.
  void signal_job(int signal);
  void signal_all(int signal);
  /// One round of SIGKILL; what forks meanwhile is caught by the next. Returns how many could not
  /// be signalled for want of permission.
  int kill_all();

  /// Reaps what has ended, except COMMAND while anything else is left, and says what remains.
  TreeCensus census();
  /// COMMAND's end, once census() has seen it.
  const std::optional<ChildEnd>& main_end() const { return main_end_; }
  /// Whether COMMAND has been stopped or continued since the last call; nullopt when neither.
  std::optional<bool> main_stopped_changed();
  bool main_reaped() const { return main_reaped_; }

  /// Up to `capacity` of the processes that are alive; returns how many were written.
  std::size_t living(pid_t* pids, std::size_t capacity);

 private:
  // Without initialisers, so that constructing the array does not touch its pages.
  struct Member {
    pid_t pid;
    pid_t parent;
  };
  // Enough for one pass over any sane tree; a larger one is worked off in several passes.
  static constexpr std::size_t kCapacity = 8192;

  void list_children();
  void list_all();
  void note_main_end();
  bool in_job(pid_t pid) const;
  bool job_lives();
  bool deliver(const Member& member, int signal) const;

  const pid_t main_;
  const pid_t session_;
  const bool own_group_;
  bool main_reaped_ = false;
  std::optional<ChildEnd> main_end_;
  std::array<Member, kCapacity> members_;
  std::size_t count_ = 0;
};

/// Whether `pid` descends from `ancestor`; false when it is gone.
bool descends_from(pid_t pid, pid_t ancestor);

}  // namespace redlock::os
