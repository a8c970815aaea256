// What becomes of servers, connections and time.
#include <algorithm>
#include <string>

#include "base/assert.h"
#include "model/serve.h"
#include "model/world.h"

namespace redlock::model {
namespace {

constexpr std::size_t kPrivate = 2;  ///< the place of Mutant::private_server

void age(std::int32_t& since, std::int32_t by) {
  since = std::min(since + by, kLongAgo);
}

void run_down(std::int32_t& left, std::int32_t by) {
  left = std::max(left - by, 0);
}

void forget_key(Server& server) {
  server.owner = server.run = server.attempt = 0;
  server.remaining = 0;
}

}  // namespace

std::optional<Violation> World::apply(State& state, const Action& action) {
  now_ = &state;
  broken_.reset();
  if (fed != nullptr) fed->clear();
  Place& place = state.places[action.node];
  switch (action.kind) {
    case Action::begin:
      begin(action.client, action.arg);
      break;
    case Action::serve:
      serve_next(action.client, action.node);
      break;
    case Action::reply:
      place.server.hot = 0;
      take_reply(action.client, action.node);
      break;
    case Action::serve_ghost:
      serve_ghost(action.node, action.arg);
      break;
    case Action::tick:
      tick(action.client);
      break;
    case Action::give_back:
      feed(action.client, {.kind = Input::give_back});
      break;
    case Action::crash:
      --state.crashes;
      state.untidy = 1;
      end_process(action.client, true);
      break;
    case Action::cut:
    case Action::no_connect:
      --state.breaks;
      state.untidy = 1;
      cut(action.client, action.node);
      break;
    case Action::connect:
      connect(action.client, action.node);
      break;
    case Action::notice:
      place.links[action.client].dead = 0;
      leave_unanswered(action.client, action.node);
      break;
    case Action::restart:
      restart(action.node);
      break;
    case Action::expire:
      place.server.hot = 1;
      forget_key(place.server);
      break;
    case Action::pass:
      pass();
      break;
    case Action::pause:
      --state.pauses;
      state.clients[action.client].paused = 1;
      break;
    case Action::resume:
      state.clients[action.client].paused = 0;
      break;
  }
  for (Place& each : state.places) drop_idle_ghosts(each.server);
  return broken_;
}

void World::execute(std::uint8_t node, const Ghost& asker, Message& message) {
  Server& server = now_->places[node].server;
  server.hot = 1;
  const Server before = server;
  const bool own_server = rules_.mutant == Mutant::private_server && node == kPrivate;
  serve(server, {asker.client, asker.run, asker.floor, own_server}, message, rules_);
  const bool changed = server.owner != before.owner || server.run != before.run ||
                       server.attempt != before.attempt || server.remaining != before.remaining;
  const bool was_foreign =
      before.owner != 0 && (before.owner != asker.client + 1 || before.run != asker.run);
  if (changed && was_foreign) {
    break_promise(foreign_key, "a request changed a key that carries another's token");
  }
  if (message.kind == Ask::renew && before.owner == 0 && server.owner != 0) {
    break_promise(heal_confirmed, "a renewal put a key back");
  }
}

void World::serve_next(std::uint8_t client, std::uint8_t node) {
  for (Message& message : now_->places[node].links[client].messages) {
    if (message.stage != Stage::wire) continue;
    const Client& asker = now_->clients[client];
    execute(node, {.client = client, .run = asker.run, .floor = asker.floor}, message);
    return;
  }
  RR_ASSERT(false);
}

void World::serve_ghost(std::uint8_t node, std::uint8_t which) {
  auto& ghosts = now_->places[node].server.ghosts;
  const Ghost ghost = ghosts[which];
  std::copy(ghosts.begin() + which + 1, ghosts.end(), ghosts.begin() + which);
  ghosts.back() = {};
  Message message{
      .stage = Stage::wire, .kind = ghost.kind, .attempt = ghost.attempt, .fence = ghost.fence};
  execute(node, ghost, message);
}

/// The connection breaks, or none is to be had.
void World::cut(std::uint8_t client, std::uint8_t node) {
  make_ghosts(client, node, true);
  leave_unanswered(client, node);
}

void World::make_ghosts(std::uint8_t client, std::uint8_t node, bool broken) {
  Place& place = now_->places[node];
  auto& ghosts = place.server.ghosts;
  if (place.links[client].dead != 0) return;
  std::uint8_t connection = 0;
  for (const Ghost& ghost : ghosts) {
    if (ghost.present != 0 && ghost.client == client && ghost.run == now_->clients[client].run) {
      connection = std::max(connection, static_cast<std::uint8_t>(ghost.connection + 1));
    }
  }
  for (const Message& message : place.links[client].messages) {
    if (message.stage != Stage::wire || expires_anyhow(message.kind)) continue;
    const auto free = std::find_if(ghosts.begin(), ghosts.end(),
                                   [](const Ghost& ghost) { return ghost.present == 0; });
    RR_ASSERT(free != ghosts.end());  // never the silent loss of a request
    *free = {.present = static_cast<std::uint8_t>(broken || message.slow != 0 ? 2 : 1),
             .client = client,
             .run = now_->clients[client].run,
             .connection = connection,
             .floor = now_->clients[client].floor,
             .kind = message.kind,
             .attempt = message.attempt,
             .fence = message.fence};
  }
}

/// A ghost that cannot do anything any more, whatever happens, might as well not be there.
void World::drop_idle_ghosts(Server& server) const {
  const auto is_idle = [&](const Ghost& ghost) {
    if (ghost.present == 0) return true;
    if (ghost.kind == Ask::acquire || ghost.kind == Ask::heal) return false;
    if (rules_.mutant == Mutant::release_any || rules_.mutant == Mutant::renew_recreates) {
      return false;
    }
    if (server.owner == ghost.client + 1 && server.run == ghost.run) return false;
    const auto sets = [&](Ask kind) { return kind == Ask::acquire || kind == Ask::heal; };
    const bool from_ghost =
        std::any_of(server.ghosts.begin(), server.ghosts.end(), [&](const Ghost& other) {
          return other.present != 0 && other.client == ghost.client && other.run == ghost.run &&
                 sets(other.kind);
        });
    // While the process lives it may set the key again.
    const bool lives =
        now_->clients[ghost.client].lease != 0 && now_->clients[ghost.client].run == ghost.run;
    return !from_ghost && !lives;
  };
  const auto end = std::remove_if(server.ghosts.begin(), server.ghosts.end(), is_idle);
  std::fill(end, server.ghosts.end(), Ghost{});
}

/// What was under way and what waits comes to nothing for the client.
void World::leave_unanswered(std::uint8_t client, std::uint8_t node) {
  Link& link = now_->places[node].links[client];
  const auto lost = link.messages;
  const bool was_up = link.up != 0;
  link.up = 0;
  link.messages = {};
  const auto unknown = static_cast<std::uint8_t>(core::Answer::unknown);
  for (const Message& message : lost) {
    if (message.stage == Stage::none) continue;
    feed(client, {.kind = Input::answer,
                  .node = node,
                  .release = message.kind == Ask::release,
                  .answer_is = unknown});
    if (now_->clients[client].lease == 0) return;
  }
  if (was_up) feed(client, {.kind = Input::link, .node = node, .up = 0});
}

void World::connect(std::uint8_t client, std::uint8_t node) {
  Link& link = now_->places[node].links[client];
  link.up = 1;
  for (Message& message : link.messages) {
    if (message.stage == Stage::waiting) message.stage = Stage::wire;
  }
  feed(client, {.kind = Input::link, .node = node, .up = 1});
}

/// Without any memory. What has arrived and was not executed is lost; replies on their way are not.
void World::restart(std::uint8_t node) {
  --now_->restarts;
  now_->untidy = 1;
  Place& place = now_->places[node];
  place.server = {};
  if (rules_.timed) place.server.young = static_cast<std::int32_t>(rules_.lease.timing.ttl.ns());
  for (std::size_t i = 0; i < kClients; ++i) {
    if (now_->clients[i].lease != 0 && place.links[i].up != 0) place.links[i].dead = 1;
  }
}

void World::pass() {
  const std::int32_t span = next_point(*now_).value();
  now_->delays = static_cast<std::uint8_t>(now_->delays - would_be_late(*now_));
  for (Place& place : now_->places) {
    for (std::size_t i = 0; i < kClients; ++i) {
      Link& link = place.links[i];
      for (Message& message : link.messages) {
        if (takes_time(now_->clients[i], link, message)) message.slow = 1;
      }
    }
    for (Ghost& ghost : place.server.ghosts) {
      if (ghost.present != 0) ghost.present = 2;
    }
  }
  for (Client& client : now_->clients) {
    if (client.lease != 0) age(client.age, span);
  }
  for (Place& place : now_->places) {
    place.server.hot = 0;
    run_down(place.server.young, span);
    if (place.server.owner != 0) {
      run_down(place.server.remaining, span);
      if (place.server.remaining == 0) forget_key(place.server);
    }
    for (Link& link : place.links) {
      age(link.confirmed, span);
      age(link.missing, span);
    }
  }
}

}  // namespace redlock::model
