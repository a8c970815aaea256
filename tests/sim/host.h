// One host: the front (the real core::Run) as the runtime drives it, its connections, and its
// guard. Runs one command after another, as it is told.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/run.h"
#include "sim/guard.h"
#include "sim/link.h"
#include "sim/process.h"
#include "sim/schedule.h"

namespace redlock::sim {

class World;

/// One start of the program.
struct Command {
  Duration wait = Duration::infinite();  ///< as in core::LeaseConfig
  Duration max_run = Duration::infinite();
  bool kill_after_signal = false;
  Job job;
};

class Host {
 public:
  Host(World& world, std::size_t index, Clock clock, Duration wall_skew);

  void begin(const Command& command);
  /// SIGKILL to the front.
  void kill_front();
  /// A signal to the front, from outside.
  void signal(int number);
  /// Somebody sets its wall clock ahead; for fencing numbers it counts as set back at once.
  void slip(Duration span);
  /// An input for the front's next turn.
  void give(core::RunInput input);
  /// From the guard: nothing is left, and no front to hear it.
  void guard_ended();

  TimePoint local() const;
  /// A true time at which its clock shows at least `local`.
  TimePoint when(TimePoint local) const { return clock_.when(local); }
  void set_ppm(std::int64_t ppm) { clock_.ppm = ppm; }
  /// Another entry of the list leads to the same server as `entry` and is connected.
  bool reaches_twice(std::size_t entry) const;

  // What the checks look at.
  const core::Run* run() const { return run_.get(); }
  std::uint64_t run_id() const { return run_id_; }
  const Command& command() const { return command_; }
  core::Attempt attempt() const { return attempt_; }
  /// Until when, by its own clock, the run believes in its lease; past() if it does not.
  TimePoint believes_until() const { return believes_until_; }
  /// True time at which the current attempt, and the run, were begun.
  TimePoint attempt_began() const { return attempt_began_; }
  TimePoint began() const { return began_; }
  /// Whether the front was stopped at any time of the run.
  bool was_paused() const { return was_paused_; }
  void pause_front(TimePoint until);

  const std::size_t index;
  Process front;
  Guard guard;
  std::vector<std::unique_ptr<Link>> links;  ///< one for each server of its list
  std::optional<core::Verdict> verdict;      ///< of the last run; none when the front was killed
  // Of the last run and job; never() if that has not happened.
  TimePoint ended = TimePoint::never();
  TimePoint job_began = TimePoint::never();
  TimePoint job_ended = TimePoint::never();

 private:
  void schedule_turn();
  void turn();
  void feed(const core::RunInput& input);
  void perform(const core::RunEffect& effect);
  void send(const core::Send& send);
  void finish(const core::Verdict& what);
  void end_run();
  void note_effect(const core::RunEffect& effect);
  std::uint64_t wall_ms() const;

  World& world_;
  Clock clock_;
  const Duration wall_skew_;
  const core::Draw draw_;
  Command command_;
  std::uint64_t run_id_ = 0;
  std::unique_ptr<core::Run> run_;
  std::deque<core::RunInput> inbox_;
  std::uint64_t turn_number_ = 0;
  std::uint64_t effects_ = 0;
  core::Attempt attempt_;
  TimePoint attempt_began_;
  TimePoint began_;
  std::vector<std::uint64_t> floors_;  ///< wall clock at the beginning of each attempt
  TimePoint believes_until_ = TimePoint::past();
  bool was_paused_ = false;
};

}  // namespace redlock::sim
