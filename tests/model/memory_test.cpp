// What the search takes for granted of the core: equal texts are equal leases, whenever they were
// begun, and no server is more to a lease than another. Long random walks compare what the search
// remembers with leases that are never merged and whose clocks run on.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <vector>

#include "model/worlds.h"

namespace redlock::model {
namespace {

/// Two clients' leases as a program would have them.
class Unmerged {
 public:
  explicit Unmerged(World& world) : world_(world) {}

  /// Whether the lease comes to what the search remembers, in state and in effects.
  bool agrees(const World::Fed& fed) {
    std::optional<core::Lease>& lease = leases_[fed.client];
    if (fed.input.kind == Input::begin) {
      lease.emplace(world_.memory().concrete());
      now_[fed.client] = now_[fed.client] + Duration::nanoseconds(123'456'789);
    }
    now_[fed.client] = now_[fed.client] + Duration::nanoseconds(fed.age);
    const core::LeaseInput input = LeaseMemory::input_of(*lease, fed.input);
    const core::LeaseEffects effects = lease->step(now_[fed.client], input);
    const std::vector<Effect> ours = LeaseMemory::effects_of(*lease, effects);
    const Step& remembered = world_.memory().step(fed.before, fed.age, fed.input);
    return LeaseText::whole(*lease) == LeaseText::whole(world_.memory().lease(fed.after)) &&
           ours == remembered.effects;
  }

 private:
  World& world_;
  std::array<std::optional<core::Lease>, kClients> leases_;
  std::array<TimePoint, kClients> now_;
};

/// Whether the step comes to the same with the servers in another order.
bool is_fair(LeaseMemory& memory, const World::Fed& fed) {
  constexpr Permutation kOrder = {1, 2, 0};     // for each new place the old one
  constexpr Permutation kNewPlace = {2, 0, 1};  // for each old place the new one
  Input input = fed.input;
  if (input.kind == Input::answer || input.kind == Input::link) input.node = kNewPlace[input.node];
  const LeaseId other = memory.permuted(fed.before, kOrder);
  return memory.step(other, fed.age, input).lease == memory.permuted(fed.after, kOrder);
}

/// Counts the steps of `walks` random walks, and those that do not keep what is promised.
std::pair<int, int> walk(const Rules& rules, int walks) {
  World world(rules);
  std::vector<World::Fed> fed;
  world.fed = &fed;
  std::vector<Action> actions;
  std::uint64_t chance = 88'172'645'463'325'252ULL;
  int steps = 0;
  int wrong = 0;
  for (int i = 0; i < walks; ++i) {
    State state = world.initial();
    Unmerged unmerged(world);
    for (world.actions(state, actions); !actions.empty(); world.actions(state, actions)) {
      chance ^= chance << 13;
      chance ^= chance >> 7;
      chance ^= chance << 17;
      world.apply(state, actions[chance % actions.size()]);
      for (const World::Fed& one : std::vector(fed)) {
        ++steps;
        if (!unmerged.agrees(one) || !is_fair(world.memory(), one)) ++wrong;
      }
    }
  }
  return {steps, wrong};
}

TEST_CASE(
    "a remembered step is what the lease itself comes to, in whatever order its servers are") {
  Rules rules = with_clocks();
  rules.runs = 2;
  rules.attempts = 3;
  rules.rounds = 3;
  rules.delays = 20;
  rules.breaks = 3;
  rules.restarts = 2;
  rules.pauses = 2;
  rules.gives_back_early = true;
  const auto [steps, wrong] = walk(rules, 20'000);
  MESSAGE(steps, " steps compared");
  CHECK(steps > 100'000);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace redlock::model
