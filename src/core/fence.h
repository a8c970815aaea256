// The guard's clockwork: when to signal the job, when to kill it, when it is over. Pure; the guard
// process (app/guard.h) feeds and obeys it. It owes nothing to the process that talks to Redis: if
// that one hangs, is stopped or dies, the deadlines it published last still fall due here.
//
// "Tree" is every descendant of the guard; "job" the part of it that stayed in the session.
#pragma once

#include <variant>
#include <vector>

#include "base/time.h"
#include "core/validity.h"

namespace redlock::core {

// Inputs.
/// Time, and the deadlines in force.
struct GuardTick {
  Deadlines deadlines;
};
/// Stop the job now; kill the tree at `kill` at the latest. From --max-run, or after a signal when
/// --kill-after was asked for (`signal_job` is false then: the signal was passed on already).
struct StopJob {
  TimePoint kill;
  bool signal_job = true;
};
/// The process that publishes the deadlines is gone.
struct FrontGone {};
/// How much is left alive. `main_ended`: COMMAND itself has ended.
struct Census {
  bool main_ended = false;
  bool job_empty = false;
  bool tree_empty = false;
};

using FenceInput = std::variant<GuardTick, StopJob, FrontGone, Census>;

enum class FenceEffect {
  signal_job,         ///< stop signal and CONT to the job
  signal_tree,        ///< stop signal and CONT to everything
  kill_tree,          ///< SIGKILL to everything, then a Census; repeated until the tree is empty
  report_fenced,      ///< the stop line was crossed: from here nothing saves the job
  report_unkillable,  ///< SIGKILL did not end everything in time; the fence is over
  finish,             ///< nothing is left that has to be watched
};

using FenceEffects = std::vector<FenceEffect>;

class Fence {
 public:
  enum class State {
    guarding,  ///< the job runs
    stopping,  ///< told to stop, or its lease cannot be renewed in time; grace is running
    killing,   ///< SIGKILL, again and again
    over,
  };

  /// `grace` runs from the stop signal to SIGKILL when the front is gone; `patience` from the first
  /// SIGKILL until what still lives is called unkillable.
  Fence(Duration grace, Duration patience) : grace_(grace), patience_(patience) {}

  [[nodiscard]] FenceEffects step(TimePoint now, const FenceInput& input);
  /// The next time at which a GuardTick has something to do, given the deadlines in force.
  TimePoint wakeup(const Deadlines& deadlines) const;

  State state() const { return state_; }
  /// The lease's deadlines were crossed: absorbing.
  bool fenced() const { return fenced_; }

 private:
  void on(const GuardTick& tick);
  void on(const StopJob& stop);
  void on(const FrontGone&);
  void on(const Census& census);
  void stop_by(TimePoint kill);
  void kill();

  const Duration grace_;
  const Duration patience_;
  State state_ = State::guarding;
  TimePoint now_ = TimePoint::past();
  bool fenced_ = false;
  /// Killing begins here whatever is published later.
  TimePoint kill_at_ = TimePoint::never();
  TimePoint unkillable_at_ = TimePoint::never();
  TimePoint next_round_ = TimePoint::never();
  int rounds_ = 0;
  FenceEffects effects_;
};

}  // namespace redlock::core
