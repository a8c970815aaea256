// What becomes of COMMAND: started when the lease is granted, told of signals, stopped when the
// lease or its own time is up, and what the whole run amounts to in the end. Pure, like the lease.
// It runs beside the guard's Fence: deadlines that fall due while this process hangs are the
// Fence's; this machine learns of them and only ever agrees.
//
// Invariants
// (1) Spawn follows Granted and nothing else, and no Spawn follows a withdrawal.
// (2) Nothing is given back while something that COMMAND started and that has to be dead may live.
// (3) A loss is final: no later success, exit status or signal turns it into anything but 122, and
//     only a survivor (123) outranks it.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/fence.h"
#include "core/lease.h"
#include "core/validity.h"

namespace redlock::core {

struct SupervisionConfig {
  Timing timing;
  /// Infinite: COMMAND may run as long as it likes.
  Duration max_run = Duration::infinite();
  /// --kill-after was given explicitly: KILL also follows a signal that was only passed on.
  bool kill_after_signal = false;
  /// COMMAND shares our process group and terminal: the kernel gives it ^C and the like itself.
  bool shares_terminal = false;
};

/// How COMMAND ended.
struct CommandStatus {
  bool signalled = false;
  int value = 0;  ///< exit status, or the signal
  bool dumped_core = false;
};

// Inputs, beside the lease's Granted, Extended, Lost, GaveUp and Released.
/// COMMAND runs: exec succeeded.
struct Started {};
/// exec failed; `error` is its errno.
struct ExecFailed {
  int error = 0;
};
/// So much time passed between Spawn and exec that the lease was nearly spent: nothing was run.
struct StartDeclined {};
/// COMMAND or the guard could not be forked.
struct StartFailed {
  int error = 0;
};
struct CommandEnded {
  CommandStatus status;
};
/// Nothing is left that the lease has to be kept for.
struct JobOver {};
/// The guard crossed the stop line.
struct Fenced {};
/// SIGKILL did not end everything.
struct Unkillable {};
/// The guard ended without having said that the job is over.
struct GuardDied {};
/// COMMAND was stopped from the terminal.
struct CommandStopped {};
/// A signal to this process.
struct SignalArrived {
  int number = 0;
  bool from_kernel = false;  ///< from the terminal or its hang-up
  bool from_tree = false;    ///< sent by a process COMMAND started
};

using SupervisionInput =
    std::variant<Granted, Extended, Lost, GaveUp, Released, Started, ExecFailed, StartDeclined,
                 StartFailed, CommandEnded, JobOver, Fenced, Unkillable, GuardDied, CommandStopped,
                 SignalArrived, Tick>;

/// What a run amounted to.
enum class Ending {
  command_exited,  ///< value: its exit status
  command_killed,  ///< value: the signal it died of
  held,            ///< the lock is held elsewhere
  unavailable,     ///< no quorum of servers
  denied,          ///< credentials or rights refused
  misconfigured,   ///< the servers are none that can hold a lock
  interrupted,     ///< value: the signal that ended us before COMMAND started
  not_executable,  ///< value: errno of exec
  not_started,     ///< value: errno of fork
  max_run,         ///< --max-run reached
  lost,            ///< lease lost while COMMAND ran, or the guard died; everything is dead
  survivors,       ///< something of COMMAND could not be killed
};

struct Verdict {
  Ending ending = Ending::unavailable;
  int value = 0;
  bool dumped_core = false;
};

// Effects.
struct Spawn {
  Attempt attempt;
  FencingToken fence;
  Deadlines deadlines;
};
/// New deadlines for the guard; `urgent` when they are nearer than before.
struct Publish {
  Deadlines deadlines;
  bool urgent = false;
};
enum class Recipient { main, job };
struct Forward {
  int signal = 0;
  Recipient to = Recipient::job;
};
/// The guard did not do its duty: it hangs between fork and exec (a dead file system) at the stop
/// line, or the job outlived the kill line (the guard was stopped). Its death takes COMMAND with it
/// and leaves the rest to us.
struct KillGuard {};
/// The guard is gone: kill what it guarded, from here, until JobOver or Unkillable.
struct KillTree {};
/// Stop this process as COMMAND was stopped, so that the shell gets its prompt.
struct SuspendSelf {};
struct Finish {
  Verdict verdict;
};

using SupervisionEffect = std::variant<Spawn, Publish, StopJob, Forward, KillGuard, KillTree,
                                       SuspendSelf, TryAgain, GiveBack, Abandon, Finish>;
using SupervisionEffects = std::vector<SupervisionEffect>;

class Supervision {
 public:
  enum class State {
    waiting,    ///< for the lease
    running,    ///< COMMAND is the guard's
    stopping,   ///< it has to end: lease lost or --max-run reached
    killing,    ///< the guard is gone and we kill
    releasing,  ///< COMMAND is no more; the lease is being given back
    done,
  };

  explicit Supervision(const SupervisionConfig& config) : config_(config) {}

  [[nodiscard]] SupervisionEffects step(TimePoint now, const SupervisionInput& input);
  TimePoint wakeup() const;

  State state() const { return state_; }

 private:
  void on(const Granted& granted);
  void on(const Extended& extended);
  void on(const Lost& lost);
  void on(const GaveUp& gave_up);
  void on(const Released&);
  void on(const Started&);
  void on(const ExecFailed& failed);
  void on(const StartDeclined&);
  void on(const StartFailed& failed);
  void on(const CommandEnded& ended);
  void on(const JobOver&);
  void on(const Fenced&);
  void on(const Unkillable&);
  void on(const GuardDied&);
  void on(const CommandStopped&);
  void on(const SignalArrived& signal);
  void on(const Tick&);

  bool has_command() const;
  /// When a guard that has not reported the end of the job is to be killed.
  TimePoint guard_overdue_at() const;
  void pass_on(const SignalArrived& signal);
  void stop_job(bool signal_job);
  void release(Verdict verdict, Duration limit);
  void finish(Verdict verdict);

  const SupervisionConfig config_;
  State state_ = State::waiting;
  TimePoint now_ = TimePoint::past();
  Deadlines deadlines_;
  TimePoint max_run_at_ = TimePoint::never();
  bool lost_ = false;
  bool max_run_reached_ = false;
  bool signalled_in_release_ = false;
  bool started_ = false;
  bool guard_killed_ = false;
  /// The kill line of --max-run or of a signal that was passed on.
  TimePoint stop_kill_ = TimePoint::never();
  /// A signal that asks for the end came between Spawn and exec; passed on, but perhaps to nobody.
  int asked_to_end_ = 0;
  std::optional<CommandStatus> status_;
  Verdict verdict_;
  SupervisionEffects effects_;
};

}  // namespace redlock::core
