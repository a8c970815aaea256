// Ways through the world that are too long for an exhaustive search, step by step.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/worlds.h"

namespace redlock::model {
namespace {

constexpr std::uint8_t kA = 0;
constexpr std::uint8_t kB = 1;

bool same(const Action& a, const Action& b) {
  return a.kind == b.kind && a.client == b.client && a.node == b.node && a.arg == b.arg;
}

/// What breaks on the way, if anything. Steps that cannot be taken are passed over: a core that
/// does not send a request does not get it served.
std::optional<Violation> follow(const Rules& rules, const std::vector<Action>& way) {
  World world(rules);
  State state = world.initial();
  std::vector<Action> possible;
  for (const Action& action : way) {
    world.actions(state, possible);
    const auto can = [&action](const Action& one) { return same(one, action); };
    if (std::none_of(possible.begin(), possible.end(), can)) continue;
    const State before = state;
    std::optional<Violation> found = world.apply(state, action);
    if (!found) found = world.judge(state);
    const std::string line = describe(action, before, state, {});
    INFO(line);
    if (found) return found;
  }
  return std::nullopt;
}

/// A holds servers 2 and 3 and never had 1. Its renewal at 2 is slow. B gets the vote of 1, which
/// then forgets it, and takes A's late wish for a key. When the key on 2 expires A has 1 and 3, and
/// B has 2 and a vote that is worth nothing but was not said to be.
TEST_CASE(
    "a server that a lease never had takes its key only if it cannot have forgotten a rival") {
  Rules rules = with_clocks();
  rules.rounds = 4;
  rules.delays = 2;
  rules.breaks = 1;
  rules.restarts = 1;
  rules.floors = {0, 5};
  const std::vector<Action> way = {{Action::begin, kA},
                                   {Action::cut, kA, 0},
                                   {Action::serve, kA, 1},
                                   {Action::reply, kA, 1},
                                   {Action::serve, kA, 2},
                                   {Action::reply, kA, 2},
                                   {Action::pass},
                                   {Action::tick, kA},  // 10 ms: 1 is to be asked, once connected
                                   {Action::pass},
                                   {Action::tick, kA},  // 200 ms: a round; the renewal at 2 is slow
                                   {Action::serve, kA, 2},
                                   {Action::reply, kA, 2},
                                   {Action::pass},
                                   {Action::tick, kA},
                                   {Action::serve, kA, 2},
                                   {Action::reply, kA, 2},     // 400 ms
                                   {Action::begin, kB, 0, 5},  // its acquire at 2 is slow
                                   {Action::serve, kB, 2},
                                   {Action::reply, kB, 2},
                                   {Action::serve, kB, 0},
                                   {Action::reply, kB, 0},
                                   {Action::restart, 0, 0},
                                   {Action::connect, kA, 0},
                                   {Action::serve, kA, 0},
                                   {Action::reply, kA, 0},
                                   {Action::serve, kA, 0},
                                   {Action::reply, kA, 0},  // renewed at once
                                   {Action::pass},          // 500 ms: the key on 2 expires
                                   {Action::serve, kB, 1},
                                   {Action::reply, kB, 1}};
  const std::optional<Violation> found = follow(rules, way);
  const std::string what = found ? found->what : "nothing";
  CHECK(what == "nothing");
}

}  // namespace
}  // namespace redlock::model
