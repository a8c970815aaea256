// A world of servers, hosts and a bad network around the real core: the same Lease, Supervision,
// Run and Fence that the program drives, with everything else made up. Checks after every step what
// users are promised, and folds everything that happens into a trace that a seed must repeat.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/node_io.h"
#include "core/timing.h"
#include "sim/schedule.h"

namespace redlock::sim {

/// What a world may do to its inhabitants. The defaults stay within what the lock assumes.
struct Plan {
  std::uint64_t seed = 1;
  std::size_t nodes = 1;
  std::size_t hosts = 3;
  int runs_each = 3;
  /// Faults happen until here; then the world is calm.
  Duration troubled = Duration::seconds(25);
  std::int64_t ppm_most = 4'000;
  /// A process that got SIGKILL is gone within this.
  Duration kill_takes = Duration::milliseconds(20);
  // Broken on purpose, for proving that the checker sees it.
  bool release_ignores_token = false;
  bool fence_stands_still = false;
  bool guard_sleeps = false;
};

/// What a world amounted to.
struct Report {
  std::vector<std::string> violations;
  std::uint64_t trace = 0;
  int jobs = 0;
  int lost = 0;
  int gave_up = 0;
  std::uint64_t steps = 0;
};

/// One server: the scripts' semantics, expiry by its own clock.
class SimNode {
 public:
  SimNode(const Plan& plan, Clock clock) : plan_(plan), clock_(clock) {}

  /// Executes a request of run `run`.
  core::Outcome execute(TimePoint truth, std::uint64_t run, const core::Request& request,
                        Duration ttl);
  /// The run whose key it has, if any.
  std::optional<std::uint64_t> holder(TimePoint truth);

  /// Executes nothing before this (SIGSTOP).
  TimePoint stopped_until = TimePoint::from_ns(0);

 private:
  struct Key {
    std::uint64_t run = 0;
    core::Attempt attempt;
    TimePoint expires;  ///< by its own clock
  };
  void expire(TimePoint truth);

  const Plan& plan_;
  const Clock clock_;
  std::optional<Key> key_;
  std::uint64_t counter_ = 0;
};

class Host;

class World {
 public:
  explicit World(const Plan& plan);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  Report run();

  // For the hosts.
  void violate(std::string what);
  void note(std::uint64_t what);
  void job_begins(std::size_t host, std::uint64_t fence);
  void job_ends(std::size_t host);
  std::uint64_t next_run() { return next_run_++; }
  bool troubled() const;

  const Plan plan;
  const core::Timing timing = core::Timing::for_ttl(Duration::seconds(1));
  Schedule schedule;
  Chance chance;
  std::vector<SimNode> nodes;
  Report report;

 private:
  void make_trouble();

  std::vector<std::unique_ptr<Host>> hosts_;
  std::optional<std::size_t> working_;
  std::uint64_t last_fence_ = 0;
  std::uint64_t next_run_ = 1;
};

}  // namespace redlock::sim
