// States that differ in the names of clients and servers alone are one.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "model/world.h"

namespace redlock::model {
namespace {

void sort_ghosts(Server& server) {
  auto& ghosts = server.ghosts;
  const auto end = std::find_if(ghosts.begin(), ghosts.end(),
                                [](const Ghost& ghost) { return ghost.present == 0; });
  // By hand: std::stable_sort takes memory.
  for (auto next = ghosts.begin(); next != end; ++next) {
    const Ghost ghost = *next;
    auto place = next;
    const auto key = [](const Ghost& one) {
      return one.client << 16 | one.run << 8 | one.connection;
    };
    for (; place != ghosts.begin() && key(*(place - 1)) > key(ghost); --place)
      *place = *(place - 1);
    *place = ghost;
  }
  std::uint8_t connection = 0;
  std::uint8_t old = 0;
  for (auto next = ghosts.begin(); next != end; ++next) {
    const bool first = next == ghosts.begin() || (next - 1)->client != next->client ||
                       (next - 1)->run != next->run;
    if (first) {
      connection = 0;
    } else if (next->connection != old) {
      ++connection;
    }
    old = next->connection;
    next->connection = connection;
  }
}

/// Exchanges the two halves of what is listed by tag_of().
std::uint8_t swap_tags(std::uint8_t bits) {
  constexpr unsigned kOne = (1U << kRuns) - 1;
  return static_cast<std::uint8_t>((bits & kOne) << kRuns | (bits >> kRuns & kOne));
}

void swap_clients(State& state) {
  std::swap(state.clients[0], state.clients[1]);
  std::rotate(state.numbers.begin(), state.numbers.begin() + kRuns, state.numbers.end());
  for (Place& place : state.places) {
    std::swap(place.views[0], place.views[1]);
    std::swap(place.links[0], place.links[1]);
    Server& server = place.server;
    if (server.owner != 0) server.owner = static_cast<std::uint8_t>(3 - server.owner);
    server.counted = swap_tags(server.counted);
    for (std::uint8_t& tag : server.order) {
      if (tag != 0) tag = static_cast<std::uint8_t>((tag - 1 + kRuns) % (2 * kRuns) + 1);
    }
    for (Ghost& ghost : server.ghosts) {
      if (ghost.present != 0) ghost.client = static_cast<std::uint8_t>(1 - ghost.client);
    }
    sort_ghosts(server);
  }
}

int compare(const Place& a, const Place& b) {
  return std::memcmp(&a, &b, sizeof(Place));
}

Permutation sort_places(State& state) {
  Permutation order = {0, 1, 2};
  auto& places = state.places;
  const auto arrange = [&](std::size_t a, std::size_t b) {
    if (compare(places[a], places[b]) <= 0) return;
    std::swap(places[a], places[b]);
    std::swap(order[a], order[b]);
  };
  arrange(0, 1);
  arrange(1, 2);
  arrange(0, 1);
  return order;
}

}  // namespace

Turn World::make_canonical(State& state) {
  Turn turn;
  for (std::size_t node = 0; node < kNodes; ++node) {
    sort_ghosts(state.places[node].server);
    for (std::size_t i = 0; i < kClients; ++i) {
      const LeaseId lease = state.clients[i].lease;
      state.places[node].views[i] = lease == 0 ? 0 : memory_.facts(lease).views[node];
    }
  }
  if (rules_.mutant == Mutant::private_server) return turn;  // there servers differ
  State other = state;
  swap_clients(other);
  turn.order = sort_places(state);
  const Permutation other_order = sort_places(other);
  // What the leases know of all servers in common is left to their numbers.
  for (std::size_t i = 0; i < kClients; ++i) {
    state.clients[i].lease = memory_.permuted(state.clients[i].lease, turn.order);
    other.clients[i].lease = memory_.permuted(other.clients[i].lease, other_order);
  }
  if (std::memcmp(&other, &state, sizeof(State)) < 0) {
    state = other;
    turn = {other_order, true};
  }
  return turn;
}

}  // namespace redlock::model
