// The checker can fail: worlds that are broken on purpose are caught.
#include <doctest/doctest.h>

#include <string>

#include "sim/world.h"

namespace redlock::sim {
namespace {

/// How many of 60 nights the checker finds something in that contains `what`.
int caught(Plan plan, const std::string& what) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    plan.seed = seed;
    for (const std::string& violation : World(plan).run().violations) {
      if (violation.find(what) != std::string::npos) {
        ++found;
        break;
      }
    }
  }
  return found;
}

TEST_CASE("a sound world passes") {
  CHECK(caught({}, "") == 0);
}

TEST_CASE("a release that does not compare the token is caught as an overlap") {
  Plan plan;
  plan.release_ignores_token = true;
  CHECK(caught(plan, "beside") > 0);
}

TEST_CASE("clocks that drift beyond the allowance are caught as an overlap") {
  Plan plan;
  plan.ppm_most = 150'000;
  CHECK(caught(plan, "beside") > 0);
}

TEST_CASE("a kill that takes longer than the margin is caught as a job that outlives its lease") {
  Plan plan;
  plan.kill_takes = Duration::milliseconds(200);
  CHECK(caught(plan, "outlived") > 0);
}

TEST_CASE("a guard that does not watch the deadlines is caught") {
  Plan plan;
  plan.guard_sleeps = true;
  CHECK(caught(plan, "outlived") + caught(plan, "beside") > 0);
}

TEST_CASE("fencing tokens that do not grow are caught") {
  Plan plan;
  plan.fence_stands_still = true;
  CHECK(caught(plan, "does not grow") > 0);
}

}  // namespace
}  // namespace redlock::sim
