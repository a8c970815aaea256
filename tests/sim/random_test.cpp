// Thousands of bad nights, each from a seed: SIM_SEEDS says how many, SIM_SEED runs just one.
#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "sim/world.h"

namespace redlock::sim {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Plan plan_of(std::uint64_t seed) {
  static constexpr std::size_t kNodes[] = {1, 1, 3, 1, 2, 5};
  Plan plan;
  plan.seed = seed;
  plan.nodes = kNodes[seed % 6];
  plan.hosts = 2 + seed / 6 % 3;
  return plan;
}

TEST_CASE("on no night do two jobs overlap, outlive a lease, or starve, and each repeats exactly") {
  const std::uint64_t one = from_environment("SIM_SEED", 0);
  const std::uint64_t count = one != 0 ? 1 : from_environment("SIM_SEEDS", 2000);
  const std::uint64_t first = one != 0 ? one : std::random_device{}();
  MESSAGE("seeds " << first << " to " << first + count - 1 << "; SIM_SEED=N repeats one");
  Report sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Report report = World(plan_of(seed)).run();
    INFO("SIM_SEED=" << seed);
    for (const std::string& violation : report.violations) FAIL_CHECK(violation);
    REQUIRE(report.violations.empty());
    REQUIRE(World(plan_of(seed)).run().trace == report.trace);
    sum.jobs += report.jobs;
    sum.lost += report.lost;
    sum.steps += report.steps;
  }
  MESSAGE(count << " nights, " << sum.jobs << " jobs, " << sum.lost << " leases lost, " << sum.steps
                << " events");
  // Nights on which nothing goes wrong would prove nothing.
  if (one == 0 && count >= 100) CHECK(sum.lost > 0);
  CHECK(sum.jobs > 0);
}

}  // namespace
}  // namespace redlock::sim
