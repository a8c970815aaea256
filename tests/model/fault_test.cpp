// The lease with clocks, and something that breaks.
#include <doctest/doctest.h>

#include "model/worlds.h"

namespace redlock::model {
namespace {

/// Requests that failed are repeated after 50 ms, the most there is at this ttl, not after 10.
constexpr std::uint64_t kLongPauses = 40'000'000;

TEST_CASE("a server that restarts without memory costs nobody the exclusion, and is healed") {
  Rules rules = with_clocks();
  rules.restarts = 1;
  rules.chance = kLongPauses;
  check_sound("World B: a restart without memory", rules);
}

TEST_CASE("a connection that breaks, with what was under way executed late or never") {
  Rules rules = with_clocks();
  rules.breaks = 1;
  check_sound("World B: a connection breaks", rules);
}

TEST_CASE("a client that stands still does not believe when it goes on") {
  Rules rules = with_clocks();
  rules.rounds = 2;
  rules.pauses = 1;
  check_sound("World B: a client stands still", rules);
}

TEST_CASE("a client that is killed keeps the lock no longer than its ttl") {
  Rules rules = with_clocks();
  rules.delays = 1;
  rules.crashes = 1;
  check_sound("World B: a client is killed", rules);
}

}  // namespace
}  // namespace redlock::model
