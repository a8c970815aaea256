// Many rivals at the same instant, over 2 to 5 servers: one winner each time, never two, never
// none.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/quorum.h"

TEST_SUITE_BEGIN("quorum rivals");

namespace redlock::test {
namespace {

constexpr std::size_t kRivals = 20;
constexpr int kRounds = 5;

/// One round: the winner works until all others have given up.
void check_round(Quorum& quorum, const std::string& log, int round) {
  const TempDir dir;
  const std::string go = dir.file("go");
  std::vector<Run> runs;
  for (std::size_t i = 0; i < kRivals; ++i) {
    const std::string name = std::to_string(round) + "." + std::to_string(i);
    runs.push_back(probe_job(quorum, {"-n", "-q"},
                             {"enter", log, name, "await", go, "leave", log, name, "exit", "11"})
                       .start());
  }
  const auto running = [&runs] {
    return std::count_if(runs.begin(), runs.end(), [](Run& run) { return !run.ended(); });
  };
  CHECK(wait_until([&running] { return running() <= 1; }));
  touch(go);
  std::size_t winners = 0;
  for (Run& run : runs) {
    if (run.wait().how == exit_with(11)) {
      ++winners;
      continue;
    }
    CHECK_ENDING(run.wait(), exit_with(75));
  }
  CHECK(winners == 1);
  CHECK(quorum.only_fences_left());
}

/// The fencing number of the winner who entered last.
std::int64_t last_fence(const std::string& log) {
  std::int64_t last = 0;
  for (const Stamp& stamp : read_log(log)) last = std::max(last, stamp.fence);
  return last;
}

/// How many servers have a counter of at least `fence`.
std::size_t at_least(Quorum& quorum, std::int64_t fence) {
  const auto counters = quorum.values(kJobFence);
  return static_cast<std::size_t>(std::count_if(
      counters.begin(), counters.end(),
      [fence](const auto& counter) { return counter && std::stoll(*counter) >= fence; }));
}

void check_rivals(std::size_t servers) {
  Quorum quorum(servers);
  const TempDir dir;
  const std::string log = dir.file("log");
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    check_round(quorum, log, round);
    // The next holder shares a server with this majority, and counts on from there. Rivals that
    // did not win may have moved the counters of others.
    CHECK(at_least(quorum, last_fence(log)) >= quorum.majority());
  }
  CHECK(count(read_log(log), "enter") == kRounds);
  CHECK(overlap(read_log(log)) == "");
  CHECK(fence_disorder(read_log(log)) == "");
}

TEST_CASE("of 20 started together on 2 servers exactly one runs, round after round") {
  check_rivals(2);
}

TEST_CASE("of 20 started together on 3 servers exactly one runs, round after round") {
  check_rivals(3);
}

TEST_CASE("of 20 started together on 4 servers exactly one runs, round after round") {
  check_rivals(4);
}

TEST_CASE("of 20 started together on 5 servers exactly one runs, round after round") {
  check_rivals(5);
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
