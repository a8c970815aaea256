// Thousands of bad nights, each from a seed. SIM_SEEDS says how many; SIM_SEED=N repeats one and
// prints what happened in it, line by line.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string>

#include "sim/night.h"

namespace redlock::sim {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void add(Counts& sum, const Counts& counts) {
  sum.events += counts.events;
  sum.steps += counts.steps;
  sum.runs += counts.runs;
  sum.jobs += counts.jobs;
  sum.losses += counts.losses;
  sum.gave_up += counts.gave_up;
  sum.heals += counts.heals;
  sum.restarts += counts.restarts;
  sum.deaths += counts.deaths;
  sum.questions_most = std::max(sum.questions_most, counts.questions_most);
  sum.calm_questions_most = std::max(sum.calm_questions_most, counts.calm_questions_most);
  sum.idle_turns_most = std::max(sum.idle_turns_most, counts.idle_turns_most);
}

/// What happened before it went wrong.
std::string end_of(const std::vector<std::string>& lines) {
  std::string text;
  const std::size_t most = 60;
  for (std::size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i) {
    text += lines[i] + "\n";
  }
  return text;
}

/// False when the night was a bad one for us.
bool passes(std::uint64_t seed, const Report& report) {
  if (report.violations.empty()) return true;
  const Report again = run_night(night_of(seed), true);
  FAIL_CHECK("SIM_SEED=" << seed << ": " << report.violations[0].text << '\n'
                         << end_of(again.lines));
  return false;
}

TEST_CASE("every promise holds on every night, and each night repeats exactly") {
  const std::uint64_t one = from_environment("SIM_SEED", 0);
  const std::uint64_t count = one != 0 ? 1 : from_environment("SIM_SEEDS", 4000);
  const std::uint64_t first =
      one != 0 ? one : from_environment("SIM_FIRST", std::random_device{}());
  const bool readable = one != 0 || from_environment("SIM_TRACE", 0) != 0;
  MESSAGE("seeds " << first << " to " << first + count - 1 << "; SIM_SEED=N repeats one");
  Counts sum;
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Report report = run_night(night_of(seed), readable);
    for (const std::string& line : report.lines) std::cout << line << '\n';
    if (!passes(seed, report)) return;
    REQUIRE(run_night(night_of(seed)).trace == report.trace);
    add(sum, report.counts);
  }
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE(count << " nights, each twice, " << std::llround(static_cast<double>(count) * 2 / took)
                << " a second on one core: " << sum.events << " events, " << sum.runs << " runs, "
                << sum.jobs << " jobs, " << sum.losses << " leases lost, " << sum.gave_up
                << " waits given up, " << sum.heals << " keys put back, " << sum.restarts
                << " servers crashed, " << sum.deaths << " fronts killed");
  MESSAGE("at most " << sum.questions_most << " questions to a server in a ttl, "
                     << sum.calm_questions_most << " when all is well, and " << sum.idle_turns_most
                     << " turns in a second for nothing");
  // Nights on which nothing goes wrong would prove nothing.
  if (count >= 100) {
    CHECK(sum.losses > 0);
    CHECK(sum.heals > 0);
    CHECK(sum.restarts > 0);
  }
  CHECK(sum.jobs > 0);
}

}  // namespace
}  // namespace redlock::sim
