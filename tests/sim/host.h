// One host: the front (Run) and the guard (Fence) as the program has them, a job that behaves well
// or not, and connections that are late, break, or fall silent.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/fence.h"
#include "core/run.h"
#include "sim/schedule.h"
#include "sim/world.h"

namespace redlock::sim {

class Host {
 public:
  Host(World& world, std::size_t index);

  void begin();
  /// The front gets no time until then; the guard does (SIGSTOP, a hung disk).
  void pause(Duration span);
  void break_link(std::size_t node);
  /// What is sent to and from `node` arrives only after then.
  void silence_link(std::size_t node, Duration span);
  /// SIGKILL to the front, or to the guard.
  void kill_front();
  void kill_guard();
  bool finished() const { return runs_left_ == 0; }

 private:
  struct Link {
    bool up = false;
    bool connecting = false;
    std::uint64_t epoch = 0;
    std::set<std::uint64_t> broken;  ///< epochs that ended by a break of the connection
    TimePoint broken_at = TimePoint::from_ns(0);
    TimePoint silent_until = TimePoint::from_ns(0);
    TimePoint last_there = TimePoint::from_ns(0);
    TimePoint last_back = TimePoint::from_ns(0);
    std::deque<core::Request> waiting;
    std::deque<core::RequestId> unanswered;
  };

  TimePoint local() const;
  void give(core::RunInput input);
  void schedule_turn();
  void turn();
  void feed(const core::RunInput& input);
  void perform(const core::RunEffect& effect);
  void finish(const core::Verdict& verdict);
  void check_left_behind();
  void end_run();
  void kill_job();

  void send(std::size_t node, const core::Request& request);
  void connect(std::size_t node);
  void transmit(std::size_t node, const core::Request& request);
  void watch_silence(std::size_t node, core::RequestId request);

  void start_job(const core::Spawn& spawn);
  void run_job(std::uint64_t fence);
  void end_job(std::uint64_t job);
  void guard_tick();
  void guard_perform(const core::FenceEffects& effects);
  void schedule_guard();

  World& world_;
  const std::size_t index_;
  const Clock clock_;
  const core::Draw draw_;
  int runs_left_;
  std::uint64_t run_id_ = 0;
  std::unique_ptr<core::Run> run_;
  std::vector<Link> links_;
  std::deque<core::RunInput> inbox_;
  TimePoint paused_until_ = TimePoint::from_ns(0);
  TimePoint turn_at_ = TimePoint::never();
  std::uint64_t turn_number_ = 0;

  // The guard and its job.
  core::Deadlines page_;
  bool fenced_ = false;
  std::optional<core::Fence> fence_;
  std::uint64_t job_ = 0;  ///< counts jobs; 0: none ever
  bool job_alive_ = false;
  bool obeys_ = true;
  std::uint64_t guard_number_ = 0;
  std::uint64_t start_number_ = 0;
  bool guard_dead_ = false;
  TimePoint valid_until_ = TimePoint::past();
};

}  // namespace redlock::sim
