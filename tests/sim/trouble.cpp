#include "sim/trouble.h"

#include <algorithm>
#include <csignal>

#include "core/validity.h"

namespace redlock::sim {

void Trouble::begin() {
  world_.schedule.in(world_.plan.troubled, [this] { world_.calm_down(); });
  make_some();
}

void Trouble::make_some() {
  const Duration ttl = world_.plan.timing.ttl;
  if (world_.calm_since() <= world_.schedule.now()) return;
  if (world_.plan.calm == Calm::rolling) {
    roll();
    return;
  }
  world_.schedule.in(some(ttl), [this] {
    if (world_.calm_since() <= world_.schedule.now()) return;
    trouble_anybody();
    make_some();
  });
}

Host& Trouble::any_host() {
  return *world_.hosts[world_.chance.draw() % world_.hosts.size()];
}

/// In a world with a calm majority, one of the others; `nodes` if there are none.
std::size_t Trouble::any_node() {
  const std::size_t all = world_.nodes.size();
  const std::size_t first =
      world_.plan.calm == Calm::minority ? core::quorum_of(world_.plan.nodes) : 0;
  return first == all ? all : first + world_.chance.draw() % (all - first);
}

void Trouble::trouble_anybody() {
  if (world_.chance.one_in(3)) return trouble_process(any_host());
  const std::size_t node = any_node();
  if (node < world_.nodes.size()) trouble_node(node, world_.plan.timing.ttl * 5 / 2);
}

/// Of front and guard one lives and runs.
void Trouble::trouble_process(Host& host) {
  const Plan& plan = world_.plan;
  const bool front_well = host.run() != nullptr && !host.front.paused();
  const bool guard_well = !host.guard.exists() || !host.guard.process.paused();
  const bool alone = host.guard.dead() && host.guard.job_alive();
  if (plan.signals && world_.chance.one_in(4)) return host.signal(SIGTERM);
  if (plan.slips && world_.chance.one_in(4)) return host.slip(some(plan.timing.ttl * 3));
  if (!front_well || !guard_well || alone) return;
  const TimePoint until = world_.schedule.now() + some(plan.timing.ttl * 5 / 2);
  switch (world_.chance.between(0, 3)) {
    case 0:
      if (plan.deaths) host.kill_front();
      break;
    case 1:
      if (plan.deaths && plan.calm == Calm::none) host.guard.kill();
      break;
    case 2:
      if (plan.pauses) host.pause_front(until);
      break;
    default:
      if (!plan.pauses || !host.guard.exists()) break;
      world_.note(host.index, "its guard is stopped");
      host.guard.process.pause(until);
      break;
  }
}

void Trouble::trouble_node(std::size_t node, Duration most) {
  const Plan& plan = world_.plan;
  switch (world_.chance.between(0, 3)) {
    case 0:
      if (plan.crashes) crash(*world_.nodes[node], most);
      break;
    case 1:
      if (plan.hangs) world_.nodes[node]->hang(world_.schedule.now() + some(most));
      break;
    case 2: {
      // One host, or all of them, cannot reach it.
      const bool all = world_.chance.one_in(3);
      trouble_links(node, all, most);
      break;
    }
    default:
      if (plan.amnesia != Amnesia::none) world_.nodes[node]->save();
      trouble_links(node, false, most);
      break;
  }
}

void Trouble::trouble_links(std::size_t node, bool all, Duration most) {
  std::vector<Link*> links;
  world_.for_links_of(node, [&links](Link& link) { links.push_back(&link); });
  if (links.empty()) return;
  Link* const chosen = links[world_.chance.draw() % links.size()];
  for (Link* const link : links) {
    if (all || link == chosen) trouble_link(*link, most);
  }
}

void Trouble::trouble_link(Link& link, Duration most) {
  if (world_.plan.breaks && world_.chance.one_in(2)) {
    link.break_off();
  } else if (world_.plan.silences) {
    const auto way = static_cast<Way>(world_.chance.between(0, 2));
    link.silence(way, world_.schedule.now() + some(most));
  }
}

void Trouble::crash(Node& node, Duration most) {
  if (!node.running()) return;
  const Amnesia amnesia = world_.plan.amnesia;
  const bool forgets = amnesia != Amnesia::none && !world_.chance.one_in(4) &&
                       (amnesia == Amnesia::any || may_forget(node));
  const Memory memory = !forgets                  ? Memory::kept
                        : world_.chance.one_in(4) ? Memory::stale
                                                  : Memory::lost;
  node.crash(memory);
  // Most servers are started again at once.
  const Duration down = world_.chance.one_in(2) ? some(Duration::milliseconds(100)) : some(most);
  world_.schedule.in(down, [&node] { node.start(); });
}

bool Trouble::may_forget(Node& node) {
  const Key* const key = node.key();
  if (key == nullptr) return true;
  const auto others =
      std::count_if(world_.nodes.begin(), world_.nodes.end(), [&](const auto& other) {
        const Key* const same = other->key();
        return other->index != node.index && same != nullptr && same->run == key->run &&
               same->attempt == key->attempt && same->sent >= key->sent;
      });
  const std::size_t quorum = core::quorum_of(world_.plan.nodes);
  return static_cast<std::size_t>(others) >= world_.plan.nodes - quorum + 1;
}

void Trouble::roll() {
  const core::Timing& timing = world_.plan.timing;
  const std::size_t nodes = world_.nodes.size();
  const std::size_t minority = nodes - core::quorum_of(nodes);
  const std::size_t first = world_.chance.draw() % nodes;
  const Duration most = some(timing.ttl);
  for (std::size_t i = 0; i < minority; ++i) trouble_node((first + i) % nodes, most);
  if (world_.chance.one_in(4)) trouble_process(any_host());
  // Down to the last retry of a healing: a connection that was being made, a round, an error in it.
  const Duration to_heal =
      timing.connect_limit() + timing.renew_interval + timing.ttl / 10 + timing.node_timeout * 3;
  world_.schedule.in(most + to_heal, [this] { make_some(); });
}

}  // namespace redlock::sim
