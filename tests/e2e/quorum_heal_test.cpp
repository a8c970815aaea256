// Servers that have lost or never had the key of a running job: they get it as long as a majority
// of the others confirms the lease, and what is somebody else's is left alone.
#include <doctest/doctest.h>

#include <functional>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/quorum.h"
#include "support/quorum_job.h"

TEST_SUITE_BEGIN("quorum heal");

namespace redlock::test {
namespace {

TEST_CASE("a rolling restart of all servers, empty, does not cost the lease") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "3s"});
  const std::string token = job.token();
  for (std::size_t i = 0; i < 5; ++i) {
    job.quorum[i].kill9();
    job.quorum[i].restart();
    CHECK(job.carries(i, token));
    CHECK(job.quorum[i].pttl(kJobKey) > 0);
  }
  CHECK(job.quorum.count(kJobKey, token) == 5);
  job.check_unharmed(run);
  CHECK(lines_of(run.wait().err).size() <= 1);
  CHECK(job.quorum.only_fences_left());
}

TEST_CASE("a rolling restart of 3 servers, empty, does not cost the lease either") {
  QuorumJob job(3);
  Run run = job.start({"--ttl", "3s"});
  const std::string token = job.token();
  for (std::size_t i = 0; i < 3; ++i) {
    job.quorum[i].kill9();
    job.quorum[i].restart();
    CHECK(job.carries(i, token));
  }
  job.check_unharmed(run);
  CHECK(job.quorum.only_fences_left());
}

TEST_CASE("the fencing number survives a rolling restart of all servers, empty") {
  QuorumJob job(3);
  Run run = job.start({"--ttl", "3s"});
  const std::string token = job.token();
  for (std::size_t i = 0; i < 3; ++i) {
    job.quorum[i].kill9();
    job.quorum[i].restart();
    CHECK(job.carries(i, token));
  }
  const std::string fence = std::to_string(read_log(job.log).front().fence);
  CHECK(wait_until([&] { return job.quorum.count(kJobFence, fence) == 3; }));
  job.check_unharmed(run);
  CHECK_ENDING(probe_job(job.quorum, {}, {"enter", job.log, "next"}).run(), exit_with(0));
  CHECK(fence_disorder(read_log(job.log)) == "");
}

TEST_CASE("a restart of all servers at once with their data does not cost the lease") {
  QuorumJob job(Quorum(3, [](std::size_t) { return Quorum::Options{.keeps_data = true}; }));
  Run run = job.start({"--ttl", "4s"});
  const std::string token = job.token();
  job.see_renewals(0, 3, 1);
  job.quorum.each(0, 3, [](RedisServer& server) { server.kill9(); });
  job.quorum.each(0, 3, [](RedisServer& server) { server.restart(); });
  CHECK(job.quorum.count(kJobKey, token) == 3);
  job.see_renewals(0, 3, 1);
  job.check_unharmed(run);
  CHECK(job.quorum.only_fences_left());
}

/// `harm` takes the key from some servers under a job; it must come back to all of them.
void check_healed(const std::function<void(Quorum&)>& harm) {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "3s"});
  const std::string token = job.token();
  harm(job.quorum);
  CHECK(job.all_carry(token));
  job.check_unharmed(run);
  CHECK(run.wait().err == "");
  CHECK(job.quorum.only_fences_left());
}

TEST_CASE("a minority that is flushed gets the key back, silently") {
  check_healed([](Quorum& quorum) {
    quorum.each(1, 3, [](RedisServer& server) { server.command({"FLUSHALL"}); });
  });
}

TEST_CASE("a key that is deleted on one server comes back, silently, and does so again") {
  check_healed([](Quorum& quorum) {
    for (int round = 0; round < 2; ++round) {
      quorum[0].del(kJobKey);
      CHECK(wait_until([&quorum] { return quorum[0].exists(kJobKey); }));
    }
  });
}

/// Takes the key from a majority: the job must be dead within a ttl.
void check_not_healed(const std::function<void(RedisServer&)>& harm) {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "3s"});
  job.quorum.each(0, 3, harm);
  job.check_lost(run, boottime_ns() + 3'000'000'000);
  CHECK(wait_until(
      [&job] { return !job.quorum[3].exists(kJobKey) && !job.quorum[4].exists(kJobKey); }));
}

TEST_CASE("a majority that is flushed is a lost lease: 122, the job dead, nothing healed") {
  check_not_healed([](RedisServer& server) { server.command({"FLUSHALL"}); });
}

TEST_CASE("a majority taken over by others is a lost lease: 122, and their keys stay") {
  QuorumJob job(5);
  Run run = job.start({"--ttl", "3s"});
  job.quorum.each(0, 3, [](RedisServer& server) { server.set(kJobKey, "other"); });
  job.check_lost(run, boottime_ns() + 3'000'000'000);
  CHECK(job.quorum.count(kJobKey, "other") == 3);
  CHECK(job.quorum.count(kJobKey) == 3);
}

TEST_CASE("a key of another on a minority is never touched, whenever it came") {
  QuorumJob job(5);
  job.quorum[0].set(kJobKey, "earlier");
  Run run = job.start({"--ttl", "2s"});
  job.quorum[1].set(kJobKey, "later");
  job.see_renewals(1, 5);
  CHECK(job.quorum[0].get(kJobKey) == "earlier");
  CHECK(job.quorum[1].get(kJobKey) == "later");
  job.check_unharmed(run);
  CHECK(job.quorum[0].get(kJobKey) == "earlier");
  CHECK(job.quorum[1].get(kJobKey) == "later");
  CHECK(job.quorum[0].pttl(kJobKey) == -1);
  CHECK(job.quorum.count(kJobKey) == 2);
}

TEST_CASE("servers with a stale key at acquisition are taken over when it has run out") {
  QuorumJob job(5);
  job.quorum.each(3, 5, [](RedisServer& server) { server.set_px(kJobKey, "stale", 1'500); });
  Run run = job.start({"--ttl", "3s"});
  const std::string token = job.token();
  REQUIRE(token != "");
  CHECK(token != "stale");
  CHECK(job.all_carry(token));
  // Now the loss of one of the first three no longer decides anything.
  job.quorum[0].set(kJobKey, "other");
  job.see_renewals(1, 5);
  job.check_unharmed(run);
}

TEST_CASE("servers that were dead or silent at acquisition get the key when they are back") {
  QuorumJob job(5);
  job.quorum[0].kill9();
  job.quorum[1].pause();
  Run run = job.start({"--ttl", "3s"});
  job.quorum[0].restart();
  job.quorum[1].resume();
  const std::string token = job.token();
  REQUIRE(token != "");
  CHECK(job.all_carry(token));
  job.check_unharmed(run);
  CHECK(job.quorum.only_fences_left());
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
