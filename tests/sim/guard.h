// The guard of one host and the job under it: the real core::Fence, with processes that are made
// up. Runs on when the front hangs or dies, as in src/app/guard.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/fence.h"
#include "core/supervision.h"
#include "sim/process.h"
#include "sim/schedule.h"

namespace redlock::sim {

class Host;
class World;

/// What a job is like.
struct Job {
  Duration takes = Duration::seconds(1);
  bool obeys = true;   ///< ends when it is told to, not only by SIGKILL
  Duration dies_in;    ///< from a stop signal that it obeys to its end
  Duration starts_in;  ///< from Spawn to exec, at most
};

class Guard {
 public:
  Guard(World& world, Host& host);

  // What the front asks of it.
  void start(const core::Spawn& spawn, const Job& job);
  void publish(const core::Publish& order);
  void stop(const core::StopJob& order);
  void forward(const core::Forward& order);
  /// The front has ended.
  void front_gone();
  /// From the front, when the guard is dead: ends what is left of the job.
  void kill_tree();

  /// SIGKILL to the guard.
  void kill();
  /// As if it did its part: a job that nothing was granted for.
  void start_unasked(const Job& job);

  /// It guards something, or is about to.
  bool exists() const { return state_ == State::starting || state_ == State::guarding; }
  bool job_alive() const { return job_alive_; }
  bool dead() const { return state_ == State::dead; }
  /// By the host's clock: what the front published last; from when on no job may live.
  const core::Deadlines& page() const { return page_; }
  TimePoint job_must_be_dead_at() const { return must_be_dead_at_; }

  Process process;

 private:
  enum class State { none, starting, guarding, over, dead };

  void begin_job();
  void when_started(std::function<void()> what);
  void end_job(std::uint64_t job, core::CommandStatus status);
  void schedule_tick();
  void perform(const core::FenceEffects& effects);
  void end_job_in(Duration span, core::CommandStatus status);
  TimePoint local() const;

  World& world_;
  Host& host_;
  State state_ = State::none;
  core::Deadlines page_;
  TimePoint must_be_dead_at_ = TimePoint::never();
  std::optional<core::Spawn> spawn_;
  std::optional<core::Fence> fence_;
  Job spec_;
  std::vector<std::function<void()>> orders_;  ///< of the front, while it starts
  bool front_gone_ = false;
  bool fenced_ = false;
  bool job_alive_ = false;
  std::uint64_t job_ = 0;      ///< counts jobs
  std::uint64_t started_ = 0;  ///< counts guards
  std::uint64_t tick_ = 0;     ///< counts the timers set
};

}  // namespace redlock::sim
