// Fencing without any clock: messages in any order, keys that expire at any moment, even under
// their holder, processes that end while what they sent is still under way. Numbers must be unique;
// whoever begins its attempt after a grant gets a larger one; and at every server that two grants
// counted the order of the keys is the order of the numbers. (The order of the grants themselves is
// none: a client may hear of its own after it has lost it. With clocks it is: lease_test.cpp.)
#include <doctest/doctest.h>

#include "model/worlds.h"

namespace redlock::model {
namespace {

TEST_CASE("two rivals, clocks of any difference: fencing numbers follow the keys") {
  Rules rules = without_clocks();
  rules.floors = {0, 5};
  rules.patience = Patience::any;
  rules.follow_order = true;
  check_sound("World A: two rivals, at most one slow clock apart", rules);
}

TEST_CASE("rivals that come again: fencing numbers follow the keys") {
  Rules rules = without_clocks();
  rules.runs = 2;
  rules.runs_in_all = 3;
  rules.patience = Patience::still;
  rules.follow_order = true;
  check_sound("World A: three runs of two rivals", rules);
}

TEST_CASE("rivals that try again: fencing numbers follow the keys") {
  Rules rules = without_clocks();
  rules.attempts = 2;
  rules.patience = Patience::still;
  check_sound("World A: two attempts of two rivals", rules);
}

TEST_CASE("rivals whose connections break or who are killed: fencing numbers follow the keys") {
  Rules rules = without_clocks();
  rules.breaks = 1;
  rules.crashes = 1;
  rules.follow_order = true;
  check_sound("World A: a connection breaks, a process is killed", rules);
}

}  // namespace
}  // namespace redlock::model
