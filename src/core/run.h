// One whole run: the lease and the supervision of COMMAND, joined. The program and the simulator
// drive exactly this object: inputs in, effects out, and Tick after every turn.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/lease.h"
#include "core/supervision.h"

namespace redlock::core {

struct RunConfig {
  LeaseConfig lease;
  SupervisionConfig supervision;
};

using RunInput = std::variant<Begin, NodeLink, NodeAnswer, TimeSlipped, Started, ExecFailed,
                              StartDeclined, StartFailed, CommandEnded, JobOver, Fenced, Unkillable,
                              GuardDied, CommandStopped, SignalArrived, Tick>;

/// Send, Spawn, Publish, StopJob, Forward, KillGuard, KillTree, SuspendSelf and Finish are to be
/// performed;
/// the others are news that change nothing outside.
using RunEffect = std::variant<Send, Spawn, Publish, StopJob, Forward, KillGuard, KillTree,
                               SuspendSelf, Finish, Granted, Extended, Lost, GaveUp, Released>;
using RunEffects = std::vector<RunEffect>;

class Run {
 public:
  /// `draw` must outlive the run.
  Run(const RunConfig& config, const Draw& draw);

  [[nodiscard]] RunEffects step(TimePoint now, const RunInput& input);
  /// When step(Tick) has something to do if nothing else happens before.
  TimePoint wakeup() const;

  bool done() const { return supervision_.state() == Supervision::State::done; }
  const Lease& lease() const { return lease_; }
  const Supervision& supervision() const { return supervision_; }

 private:
  void feed_lease(const LeaseInput& input);
  void feed_supervision(const SupervisionInput& input);

  Lease lease_;
  Supervision supervision_;
  TimePoint now_ = TimePoint::past();
  RunEffects effects_;
};

}  // namespace redlock::core
