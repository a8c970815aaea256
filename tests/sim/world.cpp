#include "sim/world.h"

#include "core/validity.h"

namespace redlock::sim {

World::World(const Plan& p, bool readable)
    : plan(p), chance(p.seed), trace(readable), checks(*this) {
  // Offsets are positive and far apart; only differences mean anything.
  const auto clock = [this] {
    return Clock{chance.ms_between(1'000'000, 100'000'000),
                 chance.between(-plan.ppm_most, plan.ppm_most)};
  };
  for (std::size_t i = 0; i < plan.nodes; ++i) {
    nodes.push_back(std::make_unique<Node>(*this, i, clock()));
  }
  for (std::size_t i = 0; i < plan.hosts; ++i) {
    const Duration skew = chance.up_to(plan.wall_skew_most);
    hosts.push_back(std::make_unique<Host>(*this, i, clock(), skew));
    Host& host = *hosts.back();
    if (plan.broken.hosts_hurry) host.set_ppm(5'000'000);
    const std::size_t entries = plan.views.empty() ? plan.nodes : plan.views.at(i).size();
    for (std::size_t entry = 0; entry < entries; ++entry) {
      const std::size_t node = plan.views.empty() ? entry : plan.views[i][entry];
      host.links.push_back(std::make_unique<Link>(*this, host, entry, *nodes.at(node)));
    }
  }
}

World::~World() = default;

bool World::step(TimePoint end) {
  if (!schedule.run_next(end)) return false;
  ++counts.events;
  checks.after_step();
  steps_at_once_ = schedule.now() == last_step_ ? steps_at_once_ + 1 : 0;
  last_step_ = schedule.now();
  if (steps_at_once_ > 10'000) checks.violate(Check::storm, "time stands still");
  return true;
}

bool World::is_calm(std::size_t node) const {
  if (calm_since_ <= schedule.now()) return true;
  return plan.calm == Calm::minority && node < core::quorum_of(plan.nodes);
}

void World::calm_down() {
  note(Trace::kNobody, "from here nothing is wrong any more");
  calm_since_ = schedule.now();
  for (const auto& node : nodes) {
    node->start();
    node->go_on();
  }
  for (const auto& host : hosts) {
    for (const auto& link : host->links) link->heal();
    host->front.go_on();
    host->guard.process.go_on();
  }
}

void World::for_links_of(std::size_t node, const std::function<void(Link&)>& what) {
  for (const auto& host : hosts) {
    for (const auto& link : host->links) {
      if (link->node() == node) what(*link);
    }
  }
}

}  // namespace redlock::sim
