// Acquire, renew, heal and release with clocks that are right, a ttl of half a second and as little
// room in it as the core allows. Everything in rules.h is checked.
#include <doctest/doctest.h>

#include "model/worlds.h"

namespace redlock::model {
namespace {

TEST_CASE("two slow messages take nobody's lock away") {
  Rules rules = with_clocks();
  rules.delays = 2;
  check_sound("World B: two slow messages", rules);
}

TEST_CASE("a slow message through two rounds of renewals takes nobody's lock away") {
  Rules rules = with_clocks();
  rules.rounds = 2;
  rules.delays = 1;
  check_sound("World B: a slow message, two rounds", rules);
}

TEST_CASE("with other chances drawn it is the same") {
  Rules rules = with_clocks();
  rules.rounds = 2;
  rules.delays = 1;
  rules.chance = 0x9E37'79B9'7F4A'7C15ULL;
  check_sound("World B: other chances", rules);
}

TEST_CASE("rivals that come again exclude each other and leave nothing behind") {
  Rules rules = with_clocks();
  rules.runs = 2;
  check_sound("World B: two runs each", rules);
}

TEST_CASE("an attempt after a failed one leaves nothing behind either") {
  Rules rules = with_clocks();
  rules.attempts = 2;
  rules.delays = 1;
  check_sound("World B: two attempts each", rules);
}

TEST_CASE("giving back while still waiting leaves nothing behind") {
  Rules rules = with_clocks();
  rules.gives_back_early = true;
  check_sound("World B: told to give back at any time", rules);
}

}  // namespace
}  // namespace redlock::model
