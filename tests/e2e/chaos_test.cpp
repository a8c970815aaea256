// A storm over real servers, for as long as RR_CHAOS_SECONDS says; scripts/chaos sets it.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "chaos/storm.h"

TEST_SUITE_BEGIN("chaos");

namespace redlock::chaos {
namespace {

/// The number in an environment variable, or another one.
std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST_CASE("a storm: no overlap, growing numbers, no lease lost for nothing, nothing left behind") {
  const StormPlan plan{
      .length = test::milliseconds(1'000 * number_from("RR_CHAOS_SECONDS", 25)),
      .seed = number_from("RR_CHAOS_SEED", std::random_device()()),
  };
  std::printf("storm with seed %llu\n", static_cast<unsigned long long>(plan.seed));
  Storm storm(plan);
  storm.run();
  std::printf("%s", storm.totals().c_str());
  std::fflush(stdout);
  for (const std::string& finding : storm.findings()) FAIL_CHECK(finding);
}

}  // namespace
}  // namespace redlock::chaos

TEST_SUITE_END();
