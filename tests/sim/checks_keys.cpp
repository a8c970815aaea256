// Checks of keys: who may touch which, who may rely on which, and that none stays behind.
#include <algorithm>
#include <set>

#include "core/validity.h"
#include "sim/checks.h"
#include "sim/host.h"
#include "sim/world.h"

namespace redlock::sim {

// --- believe => quorum

void Checks::memory_is_lost(Node& node) {
  counter_lost_ = true;
  const Key* const key = node.key();
  if (key == nullptr || key->run == kStranger) return;
  ghosts_[node.index].push_back({key->run, key->attempt, key->expires});
}

void Checks::forget_ghost(std::size_t node, std::uint64_t run) {
  std::erase_if(ghosts_[node], [run](const Ghost& ghost) { return ghost.run == run; });
}

bool Checks::has_ghost(std::size_t node, std::uint64_t run, core::Attempt attempt) {
  if (ghosts_.empty()) return false;
  std::vector<Ghost>& ghosts = ghosts_[node];
  const TimePoint now = world_.nodes[node]->local();
  std::erase_if(ghosts, [now](const Ghost& ghost) { return ghost.expires <= now; });
  return std::any_of(ghosts.begin(), ghosts.end(), [&](const Ghost& ghost) {
    return ghost.run == run && ghost.attempt == attempt;
  });
}

/// On how many servers of its list the key of the host's current attempt is; a server that is
/// listed twice counts once.
std::size_t Checks::keys_of(const Host& host, bool with_ghosts) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < host.links.size(); ++i) {
    const std::size_t node = host.links[i]->node();
    const bool twin =
        std::any_of(host.links.begin(), host.links.begin() + static_cast<std::ptrdiff_t>(i),
                    [node](const auto& earlier) { return earlier->node() == node; });
    if (twin) continue;
    const bool holds = world_.nodes[node]->holds(host.run_id(), host.attempt()) ||
                       (with_ghosts && has_ghost(node, host.run_id(), host.attempt()));
    count += holds ? 1 : 0;
  }
  return count;
}

void Checks::check_belief(const Host& host) {
  // Where the front is dead, its guard goes on believing until the stop line.
  const bool guard_believes = host.run() == nullptr && host.guard.job_alive();
  const TimePoint until = guard_believes ? host.guard.page().stop : host.believes_until();
  if (until <= host.local()) return;
  if (keys_of(host, true) >= core::quorum_of(host.links.size())) return;
  violate(Check::belief, host_name(host.index) + " believes in a lease without a quorum");
}

void Checks::answer_is_heard(const Host& host, const core::NodeAnswer& answer) {
  const std::size_t node = host.links[answer.node.get()]->node();
  switch (answer.outcome.answer) {
    case core::Answer::gone:
    case core::Answer::foreign:
      forget_ghost(node, host.run_id());
      break;
    case core::Answer::granted:
    case core::Answer::held:
    case core::Answer::young:
    case core::Answer::failed:
    case core::Answer::refused:
    case core::Answer::misconfigured:
    case core::Answer::misplaced:
    case core::Answer::unknown:
      break;
  }
  if (world_.plan.broken.answers_stay_owed) return;
  std::erase_if(of(host).standing[answer.node.get()].owed,
                [&answer](const core::Request& owed) { return owed.id == answer.request; });
}

// --- touching and putting back

void Checks::executes(Node& node, const Message& message) {
  const bool ours = node.holds(message.run, message.request.attempt);
  for (const auto& host : world_.hosts) {
    const bool current = host->attempt() == message.request.attempt;
    if (host->run_id() != message.run || !current) continue;
    Standing& standing = of(*host).standing[node.index];
    // What never had the key has not lost it.
    if (!ours && standing.carried != message.request.attempt) continue;
    TimePoint& since = ours ? standing.confirmed : standing.missing;
    if (message.request.kind == core::RequestKind::renew) since = std::max(since, message.sent);
  }
}

void Checks::key_is_set(Node& node, const Message& message) {
  const Key* const key = node.key();
  if (key != nullptr && key->run != message.run) {
    violate(Check::foreign, "run " + std::to_string(message.run) + " takes the key of run " +
                                std::to_string(key->run) + " on node " +
                                std::to_string(node.index + 1));
  }
  forget_ghost(node.index, message.run);
  for (const auto& host : world_.hosts) {
    if (host->run_id() == message.run) {
      of(*host).standing[node.index].carried = message.request.attempt;
    }
  }
  if (message.request.kind != core::RequestKind::renew || key != nullptr) return;
  for (const auto& host : world_.hosts) {
    if (host->run_id() == message.run) check_confirmations(*host, node.index, message.sent);
  }
}

void Checks::key_is_dropped(Node& node, std::uint64_t by) {
  const Key* const key = node.key();
  if (key == nullptr || key->run == by) return;
  violate(Check::foreign, "run " + std::to_string(by) + " deletes the key of run " +
                              std::to_string(key->run) + " on node " +
                              std::to_string(node.index + 1));
}

/// The key goes (back) to `node`: a quorum of others must have been seen to hold it by requests
/// sent no earlier than `since`.
void Checks::check_confirmations(const Host& host, std::size_t node, TimePoint since) {
  std::set<std::size_t> confirming;
  for (const auto& link : host.links) {
    const bool confirmed = of(host).standing[link->node()].confirmed >= since;
    if (link->node() != node && confirmed) confirming.insert(link->node());
  }
  if (confirming.size() >= core::quorum_of(host.links.size())) return;
  violate(Check::heal, host_name(host.index) + " puts its key on node " + std::to_string(node + 1) +
                           " with too few confirmations");
}

// --- nothing left behind

/// What is under way to a slow server has arrived a second later. Excused is where anything was
/// wrong from a second before the end: what was under way on a broken connection may arrive behind
/// the release, and the release may be lost; the ttl ends that.
void Checks::check_left(const Host& host) {
  const TimePoint since = world_.schedule.now() - Duration::seconds(1);
  world_.schedule.in(Duration::milliseconds(950), [this, &host, since, run = host.run_id()] {
    for (const auto& link : host.links) {
      const Key* const key = world_.nodes[link->node()]->key();
      if (key == nullptr || key->run != run || link->disturbed() >= since) continue;
      violate(Check::left, "run " + std::to_string(run) + " left its key behind on node " +
                               std::to_string(link->node() + 1));
    }
  });
}

}  // namespace redlock::sim
