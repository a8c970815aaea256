// The two kinds of small worlds, and what the tests ask of a search through one.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "model/search.h"

namespace redlock::model {

/// Not the defaults: the longer a job may take to be stopped, the more of the ttl is kept clear. As
/// little as possible of it is here, and as few renewals as possible fit into a ttl.
inline Rules small_world() {
  Rules rules;
  rules.lease.nodes = kNodes;
  rules.lease.wait = Duration::infinite();
  rules.lease.timing = {.ttl = core::kMinTtl,
                        .renew_interval = Duration::milliseconds(200),
                        .node_timeout = Duration::milliseconds(100),
                        .kill_after = Duration(),
                        .kill_margin = Duration()};
  return rules;
}

inline Rules with_clocks() {
  Rules rules = small_world();
  rules.timed = true;
  rules.rounds = 1;
  return rules;
}

/// Keys are of no use for telling who may work, and nothing cleans up behind anybody.
inline Rules without_clocks() {
  Rules rules = small_world();
  rules.properties = fence_unique | fence_grows | fence_order | foreign_key | one_in_flight |
                     no_deadlock | all_can_end;
  return rules;
}

inline void check_sound(const std::string& title, const Rules& rules) {
  const Result result = search(rules);
  report(title, rules, result);
  CHECK_FALSE(result.violation);
  CHECK(result.complete);
}

inline void check_caught(const std::string& title, const Rules& rules) {
  const Result result = search(rules);
  report(title, rules, result);
  REQUIRE(result.violation);
  CHECK(result.violation->property == rules.properties);
}

}  // namespace redlock::model
