// A world of servers, hosts and a bad network around the real core: the same Lease, Supervision,
// Run and Fence that the program drives, with everything else made up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/checks.h"
#include "sim/host.h"
#include "sim/node.h"
#include "sim/plan.h"
#include "sim/schedule.h"
#include "sim/trace.h"

namespace redlock::sim {

/// What happened, in numbers.
struct Counts {
  std::uint64_t events = 0;
  std::uint64_t steps = 0;  ///< of the core
  std::uint64_t runs = 0;
  std::uint64_t jobs = 0;
  std::uint64_t losses = 0;
  /// In calm worlds: of leases that never had all the keys they could have had.
  std::uint64_t gave_up = 0;
  std::uint64_t heals = 0;
  std::uint64_t restarts = 0;
  std::uint64_t deaths = 0;
  // The largest that the bounds of checks_pace.cpp have seen.
  std::size_t questions_most = 0;
  std::size_t calm_questions_most = 0;
  std::size_t idle_turns_most = 0;
};

class World {
 public:
  explicit World(const Plan& plan, bool readable = false);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  /// Lets the next event happen and checks everything; false when there is none before `end`.
  bool step(TimePoint end);
  /// Ends whatever is wrong, for good.
  void calm_down();
  /// never() before that.
  TimePoint calm_since() const { return calm_since_; }
  /// One of the servers that are never in trouble, with what leads to them.
  bool is_calm(std::size_t node) const;

  // For the inhabitants.
  void note(std::size_t host, std::string_view what, std::size_t node = Trace::kNobody,
            std::uint64_t value = 0) {
    trace.note(schedule.now(), host, what, node, value);
  }
  std::uint64_t next_run() { return ++runs_; }
  Duration kill_time() { return chance.up_to(plan.kill_takes); }
  void for_links_of(std::size_t node, const std::function<void(Link&)>& what);
  void run_is_over(Host& host) {
    if (on_run_over) on_run_over(host);
  }

  const Plan plan;
  Schedule schedule;
  Chance chance;
  Trace trace;
  Counts counts;
  Checks checks;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Host>> hosts;
  /// A host is ready for its next command.
  std::function<void(Host&)> on_run_over;

 private:
  std::uint64_t runs_ = 0;
  TimePoint calm_since_ = TimePoint::never();
  TimePoint last_step_ = TimePoint::past();
  int steps_at_once_ = 0;
};

}  // namespace redlock::sim
