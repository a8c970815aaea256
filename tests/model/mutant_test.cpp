// The search can find something: worlds with servers that are wrong on purpose. Each asks for one
// property alone, so that the shortest way to just that is printed.
#include <doctest/doctest.h>

#include "model/worlds.h"

namespace redlock::model {
namespace {

Rules with(Rules rules, Mutant mutant, Property property) {
  rules.mutant = mutant;
  rules.properties = property;
  return rules;
}

TEST_CASE("counters that are not raised give a fencing number twice") {
  check_caught("Mutant: INCR and the largest",
               with(without_clocks(), Mutant::raise_is_a_lie, fence_unique));
}

TEST_CASE("counters that are not raised give numbers that do not grow") {
  Rules rules = without_clocks();
  rules.runs = 2;
  rules.patience = Patience::stragglers;
  check_caught("Mutant: INCR and the largest", with(rules, Mutant::raise_is_a_lie, fence_grows));
}

TEST_CASE("counters that are not raised give numbers in another order than the keys") {
  Rules rules = without_clocks();
  rules.follow_order = true;
  check_caught("Mutant: INCR and the largest", with(rules, Mutant::raise_is_a_lie, fence_order));
}

TEST_CASE("a release that does not compare the token deletes the key of another") {
  check_caught("Mutant: a release deletes any key",
               with(with_clocks(), Mutant::release_any, foreign_key));
}

TEST_CASE("a release that does not compare the token lets two work") {
  Rules rules = with_clocks();
  rules.runs = 2;
  rules.runs_in_all = 3;
  rules.delays = 1;
  check_caught("Mutant: a release deletes any key", with(rules, Mutant::release_any, exclusion));
}

TEST_CASE("half of four servers is no quorum") {
  check_caught("Mutant: each client has a server of its own",
               with(with_clocks(), Mutant::private_server, exclusion));
}

TEST_CASE("keys that expire earlier than the drift allows are noticed") {
  Rules rules = with_clocks();
  rules.rounds = 2;
  rules.delays = 2;
  check_caught("Mutant: keys expire early", with(rules, Mutant::early_expiry, belief));
}

TEST_CASE("keys that expire earlier than the drift allows let two work") {
  Rules rules = with_clocks();
  rules.rounds = 2;
  rules.delays = 2;
  check_caught("Mutant: keys expire early", with(rules, Mutant::early_expiry, exclusion));
}

TEST_CASE("a renewal that puts a missing key back is noticed") {
  Rules rules = with_clocks();
  rules.rounds = 2;
  rules.delays = 1;
  check_caught("Mutant: a renewal puts the key back",
               with(rules, Mutant::renew_recreates, heal_confirmed));
}

TEST_CASE("a server that votes right after it forgot everything lets two work") {
  Rules rules = with_clocks();
  rules.restarts = 1;
  check_caught("Mutant: a young server votes", with(rules, Mutant::votes_when_young, exclusion));
}

}  // namespace
}  // namespace redlock::model
