// The checks can fail: worlds that are broken on purpose are caught, each by the check that is
// meant for it, and the same worlds pass when they are not broken.
#include <doctest/doctest.h>

#include <functional>

#include "sim/night.h"

namespace redlock::sim {
namespace {

constexpr std::uint64_t kNights = 60;

/// On how many nights `check` is the first to find something; 0 unless all nights pass without
/// `breaking`.
int caught(const Plan& sound, Check check, const std::function<void(Plan&)>& breaking) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= kNights; ++seed) {
    Plan plan = sound;
    plan.seed = seed;
    const Report report = run_night(plan);
    REQUIRE_MESSAGE(report.violations.empty(),
                    "seed " << seed << ": " << report.violations[0].text);
    breaking(plan);
    const Report broken = run_night(plan);
    if (!broken.violations.empty() && broken.violations[0].check == check) ++found;
  }
  return found;
}

/// A rough world within the assumptions.
Plan rough(std::size_t nodes) {
  Plan plan;
  plan.nodes = nodes;
  plan.troubled = Duration::seconds(12);
  plan.slow_one_in = 12;
  plan.wall_skew_most = Duration::seconds(600);
  plan.breaks = plan.silences = plan.hangs = plan.crashes = plan.pauses = plan.deaths = true;
  return plan;
}

/// A world without any faults.
Plan quiet(std::size_t nodes) {
  Plan plan;
  plan.nodes = nodes;
  plan.troubled = Duration::seconds(1);
  return plan;
}

TEST_CASE("half of the servers for a quorum: exclusion") {
  // Of four servers each host knows three, and takes two of them for a majority.
  Plan plan = quiet(4);
  plan.hosts = 2;
  CHECK(caught(plan, Check::exclusion, [](Plan& p) { p.views = {{0, 1, 2}, {3, 2, 1}}; }) > 0);
}

TEST_CASE("a release that does not compare the token: foreign") {
  CHECK(caught(rough(1), Check::foreign, [](Plan& p) { p.broken.release_ignores_token = true; }) >
        0);
}

TEST_CASE("a renewal that does not compare the token: foreign") {
  CHECK(caught(rough(1), Check::foreign, [](Plan& p) { p.broken.renew_ignores_token = true; }) > 0);
}

TEST_CASE("an acquisition without NX: foreign") {
  CHECK(caught(rough(3), Check::foreign, [](Plan& p) { p.broken.acquire_overwrites = true; }) > 0);
}

TEST_CASE("clocks that drift beyond the allowance: belief") {
  // What follows, an overlap, would come later.
  CHECK(caught(rough(3), Check::belief, [](Plan& p) { p.ppm_most = 150'000; }) > 0);
}

TEST_CASE("a renewal that puts a missing key back without confirmations: heal") {
  Plan plan = rough(3);
  plan.amnesia = Amnesia::any;
  plan.min_uptime = plan.timing.ttl;
  plan.wall_skew_most = Duration();
  CHECK(caught(plan, Check::heal, [](Plan& p) { p.broken.renew_recreates = true; }) > 0);
}

TEST_CASE("servers that forget and vote again at once: exclusion") {
  Plan plan = rough(3);
  plan.amnesia = Amnesia::any;
  plan.min_uptime = plan.timing.ttl;
  plan.wall_skew_most = Duration();
  CHECK(caught(plan, Check::exclusion, [](Plan& p) { p.min_uptime = Duration(); }) > 0);
}

TEST_CASE("the largest of the servers' numbers without raising the others: fencing") {
  CHECK(caught(rough(3), Check::fencing, [](Plan& p) { p.broken.raise_is_ignored = true; }) > 0);
}

TEST_CASE("a counter that stands still: fencing") {
  Plan plan = rough(1);
  CHECK(caught(plan, Check::fencing, [](Plan& p) { p.broken.counter_stands_still = true; }) > 0);
}

TEST_CASE("a guard that sleeps: outlived") {
  CHECK(caught(rough(1), Check::outlived, [](Plan& p) { p.broken.guard_sleeps = true; }) > 0);
}

TEST_CASE("a kill that takes longer than the margin: outlived") {
  CHECK(caught(rough(3), Check::outlived,
               [](Plan& p) { p.kill_takes = Duration::milliseconds(400); }) > 0);
}

TEST_CASE("a job that is started before the lease is granted: early") {
  CHECK(caught(quiet(3), Check::early, [](Plan& p) { p.broken.starts_before_granted = true; }) ==
        kNights);
}

TEST_CASE("a SET that is executed although its failure was reported: left") {
  Plan plan = quiet(3);
  // Long enough for attempts on servers that are young and undisturbed.
  plan.min_uptime = Duration::seconds(5);
  plan.crashes = true;
  plan.runs_each = 12;
  plan.troubled = Duration::seconds(12);
  plan.gives_up = true;
  CHECK(caught(plan, Check::left, [](Plan& p) { p.broken.says_young_but_sets = true; }) > 0);
}

TEST_CASE("keys that never expire: liveness") {
  Plan plan = quiet(3);
  plan.troubled = Duration::seconds(5);
  plan.deaths = true;
  CHECK(caught(plan, Check::liveness, [](Plan& p) { p.broken.keys_never_expire = true; }) > 0);
}

TEST_CASE("more than one question at a time: owed") {
  CHECK(caught(quiet(3), Check::owed, [](Plan& p) { p.broken.answers_stay_owed = true; }) ==
        kNights);
}

TEST_CASE("hosts that live six times as fast: pace") {
  Plan plan = quiet(3);
  plan.kill_takes = plan.guard_late_most = Duration::milliseconds(1);
  CHECK(caught(plan, Check::pace, [](Plan& p) { p.broken.hosts_hurry = true; }) > 0);
}

TEST_CASE("timers that fire at once: storm") {
  CHECK(caught(quiet(3), Check::storm, [](Plan& p) { p.broken.timers_fire_at_once = true; }) > 0);
}

TEST_CASE("a front whose timers are late: wait") {
  Plan plan = quiet(3);
  plan.gives_up = true;
  CHECK(caught(plan, Check::wait, [](Plan& p) { p.front_late_most = Duration::seconds(3); }) > 0);
}

TEST_CASE("calm worlds in which fronts are stopped: false loss") {
  Plan plan = quiet(3);
  plan.troubled = Duration::seconds(12);
  plan.calm = Calm::minority;
  plan.hangs = plan.silences = plan.breaks = true;
  CHECK(caught(plan, Check::false_loss, [](Plan& p) { p.pauses = true; }) > 0);
}

TEST_CASE("a process that gives the lease back although its job lives: ends early") {
  Plan plan = rough(1);
  CHECK(caught(plan, Check::ends_early, [](Plan& p) { p.broken.job_is_called_over = true; }) > 0);
}

}  // namespace
}  // namespace redlock::sim
