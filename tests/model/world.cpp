// What can happen in a state.
#include "model/world.h"

#include <algorithm>

#include "base/assert.h"

namespace redlock::model {
namespace {

using Phase = core::Lease::State;

bool gives_back(const Facts& facts) {
  return facts.state == Phase::releasing;
}

bool waits_for_connection(const Link& link) {
  return link.messages[0].stage == Stage::waiting;
}

/// The next message that has not been executed, if it can arrive.
const Message* next_on_wire(const Link& link) {
  if (link.dead != 0) return nullptr;
  for (const Message& message : link.messages) {
    if (message.stage == Stage::wire) return &message;
  }
  return nullptr;
}

bool is_first_of_its_connection(const Server& server, std::size_t which) {
  const Ghost& ghost = server.ghosts[which];
  for (std::size_t i = 0; i < which; ++i) {
    const Ghost& other = server.ghosts[i];
    const bool same = other.client == ghost.client && other.run == ghost.run &&
                      other.connection == ghost.connection;
    if (same) return false;
  }
  return true;
}

std::uint8_t small(std::size_t number) {
  return static_cast<std::uint8_t>(number);
}

}  // namespace

World::World(const Rules& rules) : rules_(rules), memory_(rules.lease, rules.chance) {}

State World::initial() const {
  State state;
  state.delays = rules_.delays;
  state.breaks = rules_.breaks;
  state.restarts = rules_.restarts;
  state.pauses = rules_.pauses;
  state.crashes = rules_.crashes;
  return state;
}

bool World::believes(const Client& client) const {
  return client.lease != 0 && facts(client).state == Phase::held &&
         facts(client).valid_for > client.age;
}

bool World::at_its_bound(const Client& client) const {
  const Facts& now = facts(client);
  if (now.state == Phase::pausing) return now.attempt >= rules_.attempts;
  if (now.state != Phase::held || now.round < rules_.rounds) return false;
  return !rules_.timed || next_tick(client) <= 0;
}

/// How long until the client has something to do.
std::int64_t World::next_tick(const Client& client) const {
  if (client.lease == 0 || facts(client).wakeup == kNever) return kNever;
  return facts(client).wakeup - client.age;
}

std::optional<std::int32_t> World::next_point(const State& state) const {
  std::int64_t next = kNever;
  const auto at = [&next](std::int64_t when) {
    if (when > 0) next = std::min(next, when);
  };
  for (const Client& client : state.clients) {
    if (client.lease == 0) continue;
    const std::int64_t due = next_tick(client);
    if (client.paused == 0 && due <= 0) return std::nullopt;
    at(due);
    if (believes(client)) at(facts(client).valid_for - client.age);
  }
  for (const Place& place : state.places) {
    at(place.server.remaining);
    at(place.server.young);
  }
  if (next == kNever) return std::nullopt;
  return static_cast<std::int32_t>(next);
}

/// Without clocks: whether its own may move on to its wakeup.
bool World::may_move_on(const Client& client) const {
  if (facts(client).state != Phase::acquiring) return true;
  switch (rules_.patience) {
    case Patience::still:
      return false;
    case Patience::stragglers:
      return next_tick(client) < rules_.lease.timing.node_timeout.ns() / 2;
    case Patience::any:
      return true;
  }
  return true;
}

std::size_t World::would_be_late(const State& state) const {
  std::size_t late = 0;
  for (const Place& place : state.places) {
    for (std::size_t i = 0; i < kClients; ++i) {
      for (const Message& message : place.links[i].messages) {
        if (takes_time(state.clients[i], place.links[i], message)) ++late;
      }
    }
    for (const Ghost& ghost : place.server.ghosts) late += ghost.present == 1;
  }
  return late;
}

/// A reply to a client that stands still, and what is lost, does not.
bool World::takes_time(const Client& client, const Link& link, const Message& message) {
  if (message.slow != 0) return false;
  if (message.stage == Stage::reply) return client.paused == 0;
  return message.stage == Stage::wire && link.dead == 0;
}

void World::client_actions(const State& state, std::uint8_t index,
                           std::vector<Action>& list) const {
  const Client& client = state.clients[index];
  if (client.paused != 0) {
    list.push_back({Action::resume, index});
    return;
  }
  if (client.lease == 0) {
    const int begun = state.clients[0].run + state.clients[1].run;
    if (client.run >= rules_.runs || begun >= rules_.runs_in_all) return;
    for (std::size_t i = 0; i < rules_.floors.size(); ++i) {
      list.push_back({Action::begin, index, 0, rules_.floors[i]});
    }
    return;
  }
  const Facts& now = facts(client);
  const std::int64_t due = next_tick(client);
  if (due != kNever && !at_its_bound(client) && (rules_.timed ? due <= 0 : may_move_on(client))) {
    list.push_back({Action::tick, index});
  }
  const bool is_told = rules_.gives_back_early || now.state == Phase::held ||
                       now.state == Phase::lost || at_its_bound(client);
  if (is_told && !gives_back(now)) list.push_back({Action::give_back, index});
  if (state.crashes > 0) list.push_back({Action::crash, index});
  if (state.pauses > 0) list.push_back({Action::pause, index});
}

void World::reply_actions(const State& state, std::uint8_t node, std::vector<Action>& list) const {
  for (std::uint8_t i = 0; i < kClients; ++i) {
    const Client& client = state.clients[i];
    if (client.lease == 0 || client.paused != 0) continue;
    // An answer begins a round that is due as well as a tick does.
    if (rules_.timed && at_its_bound(client)) continue;
    if (state.places[node].links[i].messages[0].stage == Stage::reply) {
      list.push_back({Action::reply, i, node});
    }
  }
}

void World::link_actions(const State& state, std::uint8_t client, std::uint8_t node,
                         std::vector<Action>& list) const {
  const Link& link = state.places[node].links[client];
  if (next_on_wire(link) != nullptr) list.push_back({Action::serve, client, node});
  if (state.clients[client].paused != 0) return;
  if (link.dead != 0) list.push_back({Action::notice, client, node});
  if (waits_for_connection(link)) list.push_back({Action::connect, client, node});
  if (state.breaks == 0 || state.clients[client].lease == 0) return;
  if (waits_for_connection(link)) {
    list.push_back({Action::no_connect, client, node});
  } else if (link.up != 0 && link.dead == 0) {
    list.push_back({Action::cut, client, node});
  }
}

void World::server_actions(const State& state, std::uint8_t node, std::vector<Action>& list) const {
  const Server& server = state.places[node].server;
  for (std::uint8_t client = 0; client < kClients; ++client) {
    if (next_on_wire(state.places[node].links[client]) != nullptr) {
      list.push_back({Action::serve, client, node});
    }
  }
  for (std::size_t i = 0; i < kGhosts; ++i) {
    if (server.ghosts[i].present != 0 && is_first_of_its_connection(server, i)) {
      list.push_back({Action::serve_ghost, 0, node, small(i)});
    }
  }
  if (!rules_.timed && server.owner != 0) list.push_back({Action::expire, 0, node});
}

/// What a server does matters to those only who hear of it, and to time. So each of its deeds is
/// put off until just before the next reply that it gives, its restart, or the next moment: nothing
/// that can be observed is lost, and most orders of deeds at different servers are. A server is hot
/// from its first deed to then.
void World::actions(const State& state, std::vector<Action>& list) const {
  list.clear();
  std::size_t hot = 0;
  for (const Place& place : state.places) hot += place.server.hot;
  for (std::uint8_t client = 0; client < kClients && hot == 0; ++client) {
    client_actions(state, client, list);
    for (std::uint8_t node = 0; node < kNodes; ++node) link_actions(state, client, node, list);
  }
  for (std::uint8_t node = 0; node < kNodes; ++node) {
    const bool is_hot = state.places[node].server.hot != 0;
    if (hot == 0 || rules_.timed || is_hot) server_actions(state, node, list);
    if (hot == 0 || (hot == 1 && is_hot)) reply_actions(state, node, list);
    if (state.restarts > 0 && (hot == 0 || (hot == 1 && is_hot))) {
      list.push_back({Action::restart, 0, node});
    }
  }
  const bool may_pass = rules_.timed && would_be_late(state) <= state.delays;
  if (may_pass && next_point(state)) list.push_back({Action::pass});
}

std::optional<Action> World::towards_the_end(const State& state) const {
  std::vector<Action> list;
  actions(state, list);
  const bool all_ended = std::all_of(state.clients.begin(), state.clients.end(),
                                     [](const Client& client) { return client.lease == 0; });
  if (all_ended) return std::nullopt;
  constexpr Action::Kind kinds[] = {Action::resume,  Action::give_back,   Action::reply,
                                    Action::serve,   Action::serve_ghost, Action::notice,
                                    Action::connect, Action::tick,        Action::pass};
  for (const Action::Kind kind : kinds) {
    for (const Action& action : list) {
      if (action.kind == kind) return action;
    }
  }
  return std::nullopt;
}

std::optional<Violation> World::judge(const State& state) const {
  const auto broken = [this](Property property, const char* what) {
    return (rules_.properties & property) != 0 ? std::optional(Violation{property, what})
                                               : std::nullopt;
  };
  bool all_ended = true;
  bool under_way = false;
  for (const Place& place : state.places) under_way |= place.server.ghosts[0].present != 0;
  for (std::uint8_t i = 0; i < kClients; ++i) {
    const Client& client = state.clients[i];
    all_ended &= client.lease == 0;
    if (!rules_.timed || !believes(client)) continue;
    std::size_t keys = 0;
    for (const Place& place : state.places) {
      const Server& server = place.server;
      const bool key = server.owner == i + 1 && server.run == client.run &&
                       server.attempt == facts(client).attempt;
      if (key || server.young > 0) ++keys;
    }
    if (keys < core::quorum_of(kNodes)) {
      if (auto found = broken(belief, "a client believes and has its key on no quorum")) {
        return found;
      }
    }
  }
  if (rules_.timed && believes(state.clients[0]) && believes(state.clients[1])) {
    if (auto found = broken(exclusion, "two clients believe")) return found;
  }
  if (!all_ended || under_way || state.untidy != 0) return std::nullopt;
  for (const Place& place : state.places) {
    if (place.server.owner == 0) continue;
    if (auto found = broken(no_key_left, "a key is left although all ended cleanly")) return found;
  }
  return std::nullopt;
}

}  // namespace redlock::model
