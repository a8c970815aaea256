#include "sim/night.h"

#include <algorithm>

#include "sim/trouble.h"

namespace redlock::sim {
namespace {

Job some_job(World& world) {
  Chance& chance = world.chance;
  const Duration ttl = world.plan.timing.ttl;
  Job job;
  job.takes = chance.up_to(chance.one_in(3) ? ttl / 10 : ttl * 4);
  job.obeys = !chance.one_in(3);
  job.dies_in = chance.up_to(ttl * 2 / 5);
  // In a calm world no start takes so long that a signal's grace is over before it.
  const Duration slow =
      world.plan.calm == Calm::none ? ttl * 2 / 5 : world.plan.timing.kill_after / 2;
  job.starts_in = chance.up_to(chance.one_in(10) ? slow : Duration::milliseconds(3));
  return job;
}

Command some_command(World& world) {
  Chance& chance = world.chance;
  const Plan& plan = world.plan;
  const Duration ttl = plan.timing.ttl;
  Command command;
  command.job = some_job(world);
  if (plan.gives_up && chance.one_in(2)) {
    command.wait = chance.one_in(2) ? Duration() : chance.up_to(ttl * 3);
  }
  if (plan.max_run && chance.one_in(2)) command.max_run = chance.up_to(ttl * 2);
  command.kill_after_signal = chance.one_in(2);
  return command;
}

}  // namespace

Report run_night(const Plan& plan, bool readable) {
  World world(plan, readable);
  Trouble trouble(world);
  std::vector<int> left(plan.hosts, plan.runs_each);
  world.on_run_over = [&](Host& host) {
    if (--left[host.index] <= 0) return;
    world.schedule.in(world.chance.ms_between(0, 800), [&] { host.begin(some_command(world)); });
  };
  for (const auto& host : world.hosts) {
    world.schedule.in(world.chance.ms_between(0, 300),
                      [&world, &host] { host->begin(some_command(world)); });
  }
  trouble.begin();
  const TimePoint end = TimePoint() + plan.troubled + plan.timing.ttl * 100;
  while (world.checks.violations().empty() &&
         std::any_of(left.begin(), left.end(), [](int runs) { return runs > 0; })) {
    if (!world.step(end)) {
      world.checks.violate(Check::liveness, "somebody never got its turn");
    }
  }
  return {world.checks.violations(), world.trace.hash(), world.trace.lines(), world.counts};
}

}  // namespace redlock::sim
