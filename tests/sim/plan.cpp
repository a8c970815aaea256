#include "sim/plan.h"

#include "sim/schedule.h"

namespace redlock::sim {
namespace {

/// The faults of a world in which anything goes that keeps to the assumptions.
void choose_faults(Plan& plan, Chance& chance) {
  plan.breaks = !chance.one_in(4);
  plan.silences = !chance.one_in(4);
  plan.hangs = !chance.one_in(3);
  plan.crashes = chance.one_in(2);
  plan.pauses = !chance.one_in(3);
  plan.deaths = !chance.one_in(3);
  plan.slow_one_in = chance.one_in(3) ? 0 : 12;
}

void choose_network(Plan& plan, Chance& chance) {
  static constexpr std::int64_t kDelays[] = {1, 2, 5, 10, 20};
  plan.delay_most = Duration::milliseconds(kDelays[chance.draw() % 5]);
}

/// Memory may be lost only where the lock can bear it.
void choose_memory(Plan& plan, Chance& chance) {
  if (!plan.crashes) return;
  switch (chance.between(0, 2)) {
    case 0:
      break;
    case 1:
      plan.amnesia = Amnesia::fair;
      break;
    default:
      plan.amnesia = Amnesia::any;
      plan.min_uptime = plan.timing.ttl;
      break;
  }
  // Servers that are asked for their uptime without ever forgetting anything are a case, too.
  if (chance.one_in(8)) plan.min_uptime = plan.timing.ttl;
  // Without any loss of memory, fencing does not depend on the wall clocks.
  plan.wall_skew_most = plan.amnesia == Amnesia::none ? Duration::seconds(600) : Duration();
}

}  // namespace

Plan night_of(std::uint64_t seed) {
  static constexpr std::size_t kNodes[] = {1, 1, 2, 3, 3, 3, 3, 3, 5, 5, 5, 4, 7};
  static constexpr std::int64_t kTtls[] = {500, 1000, 1000, 1000, 3000};
  Chance chance(seed * 2 + 1);
  Plan plan;
  plan.seed = seed;
  plan.nodes = kNodes[chance.draw() % 13];
  plan.hosts = static_cast<std::size_t>(chance.between(2, 4));
  plan.timing = core::Timing::for_ttl(Duration::milliseconds(kTtls[chance.draw() % 5]));
  plan.troubled = plan.timing.ttl * chance.between(8, 20);
  choose_network(plan, chance);
  choose_faults(plan, chance);
  plan.wall_skew_most = Duration::seconds(600);
  if (chance.one_in(3)) {
    plan.calm = chance.one_in(2) ? Calm::minority : Calm::rolling;
    plan.pauses = plan.deaths = false;
    plan.slow_one_in = plan.calm == Calm::rolling ? 0 : plan.slow_one_in;
    plan.crashes = true;
  }
  choose_memory(plan, chance);
  plan.signals = chance.one_in(3);
  plan.slips = chance.one_in(3);
  plan.gives_up = chance.one_in(3);
  plan.max_run = chance.one_in(4);
  return plan;
}

}  // namespace redlock::sim
