#include <doctest/doctest.h>
#include <cstdlib>
#include "model/search.h"
namespace redlock::model {
namespace {
int env(const char* name, int d) {
  const char* v = std::getenv(name);
  return v ? std::atoi(v) : d;
}
TEST_CASE("probe") {
  Rules rules;
  rules.lease.nodes = kNodes;
  rules.lease.wait = Duration::infinite();
  rules.lease.timing = {.ttl = Duration::milliseconds(500),
                        .renew_interval = Duration::milliseconds(env("RENEW", 200)),
                        .node_timeout = Duration::milliseconds(env("TIMEOUT", 100)),
                        .kill_after = Duration::milliseconds(env("KILL", 0)),
                        .kill_margin = Duration()};
  rules.timed = env("TIMED", 0);
  auto u8 = [](const char* n, int d) { return static_cast<std::uint8_t>(env(n, d)); };
  rules.runs = u8("RUNS", 1);
  rules.attempts = u8("ATTEMPTS", 1);
  rules.rounds = u8("ROUNDS", 0);
  rules.breaks = u8("BREAKS", 0);
  rules.restarts = u8("RESTARTS", 0);
  rules.pauses = u8("PAUSES", 0);
  rules.crashes = u8("CRASHES", 0);
  if (env("FLOORS", 0)) rules.floors = {0, 5};
  rules.gives_back_early = env("EARLY", 0);
  rules.delays = u8("DELAYS", 0);
  rules.runs_in_all = u8("ALL", 4);
  rules.impatient = env("IMP", 0);
  rules.follow_order = env("ORDER", 0);
  rules.mutant = static_cast<Mutant>(env("MUTANT", 0));
  rules.properties = static_cast<std::uint32_t>(env("PROPS", static_cast<int>(every_property)));
  const Result r = search(rules, static_cast<std::uint64_t>(env("MOST", 5000000)));
  report("probe", rules, r);
}
}  // namespace
}  // namespace redlock::model
