// A lock on several servers: taken, exclusive, given back; and why it was not to be had.
#include <doctest/doctest.h>

#include <algorithm>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/proxy.h"
#include "support/quorum.h"
#include "support/quorum_job.h"

TEST_SUITE_BEGIN("quorum");

namespace redlock::test {
namespace {

/// Runs and checks that COMMAND was not started, that the status is `code`, and that there is
/// something to read.
Ending refused(const Quorum& quorum, const std::vector<std::string>& options, int code) {
  const TempDir dir;
  const Ending ending = probe_job(quorum, options, {"touch", dir.file("ran")}).run();
  CHECK_ENDING(ending, exit_with(code));
  CHECK(!exists(dir.file("ran")));
  CHECK(ending.err.find("redlock-run: ") == 0);
  CHECK(lines_of(ending.err).size() == 1);
  return ending;
}

void check_taken_and_given_back(std::size_t servers) {
  QuorumJob job(servers);
  Run holder = job.start({});
  const std::string token = job.token();
  REQUIRE(token != "");
  CHECK(job.all_carry(token));
  const std::string fence = std::to_string(read_log(job.log).front().fence);
  CHECK(job.quorum.count(kJobFence, fence) == servers);
  refused(job.quorum, {}, 75);
  CHECK(job.quorum.count(kJobKey, token) == servers);
  job.check_unharmed(holder);
  CHECK(holder.wait().err == "");
  CHECK(job.quorum.only_fences_left());
  CHECK(job.quorum.count(kJobFence) == servers);
  CHECK_ENDING(lock(job.quorum, {"job", "true"}).run(), exit_with(0));
}

TEST_CASE("3 servers carry the same token and number, exclude a rival, and are free again") {
  check_taken_and_given_back(3);
}

TEST_CASE("5 servers carry the same token and number, exclude a rival, and are free again") {
  check_taken_and_given_back(5);
}

TEST_CASE("12 that wait on 3 servers all run, one after the other, with growing numbers") {
  Quorum quorum(3);
  const TempDir dir;
  const std::string log = dir.file("log");
  std::vector<Run> runs;
  for (int i = 0; i < 12; ++i) {
    const std::string name = std::to_string(i);
    runs.push_back(probe_job(quorum, {"-w", "60s"},
                             {"enter", log, name, "beat", log, name, "20", "leave", log, name})
                       .start());
  }
  for (Run& run : runs) CHECK_ENDING(run.wait(milliseconds(60'000)), exit_with(0));
  CHECK(count(read_log(log), "leave") == 12);
  CHECK(overlap(read_log(log)) == "");
  CHECK(fence_disorder(read_log(log)) == "");
  CHECK(quorum.only_fences_left());
}

TEST_CASE("a dead majority is 69 in bounded time, and the line names each server with its reason") {
  Quorum quorum(5);
  quorum.each(0, 2, [](RedisServer& server) { server.kill9(); });
  quorum[2].pause();
  const Ending ending = refused(quorum, {"--ttl", "3s"}, 69);
  CHECK(ending.elapsed < milliseconds(6'000));
  for (std::size_t i = 0; i < 3; ++i) CHECK(contains(ending.err, quorum[i].name()));
  CHECK(contains(ending.err, "refused"));
  CHECK(contains(ending.err, "no answer"));
  quorum[2].resume();
  CHECK(wait_until([&quorum] { return quorum[2].other_clients() == 0; }));
  quorum.each(2, 5, [](RedisServer& server) { CHECK(only_fences_left(server)); });
}

TEST_CASE("a silent majority is 69 in bounded time and gets no key when it wakes up") {
  Quorum quorum(5);
  quorum.each(0, 3, [](RedisServer& server) { server.pause(); });
  CHECK(refused(quorum, {"--ttl", "3s"}, 69).elapsed < milliseconds(6'000));
  quorum.each(0, 3, [](RedisServer& server) { server.resume(); });
  quorum.each(0, 3, [](RedisServer& server) {
    CHECK(wait_until([&server] { return server.other_clients() == 0; }));
  });
  CHECK(quorum.only_fences_left());
}

TEST_CASE("a waiter rides out a dead majority and gets in when it is back") {
  Quorum quorum(3);
  quorum.each(0, 2, [](RedisServer& server) { server.kill9(); });
  Run waiter = lock(quorum, {"-w", "60s", "job", "true"}).start();
  REQUIRE(wait_until([&quorum] { return quorum[2].script_calls() > 1; }));
  quorum.each(0, 2, [](RedisServer& server) { server.restart(); });
  CHECK_ENDING(waiter.wait(), exit_with(0));
  CHECK(quorum.only_fences_left());
}

TEST_CASE("a majority held by one other is 75, and its keys are left alone") {
  Quorum quorum(5);
  quorum.each(0, 3, [](RedisServer& server) { server.set_px(kJobKey, "other", 60'000); });
  const Ending ending = refused(quorum, {}, 75);
  CHECK(contains(ending.err, "held"));
  CHECK(quorum.count(kJobKey, "other") == 3);
  CHECK(quorum.count(kJobKey) == 3);
}

TEST_CASE("a majority held by several others is 75, and their keys are left alone") {
  Quorum quorum(3);
  quorum[0].set_px(kJobKey, "one", 60'000);
  quorum[1].set_px(kJobKey, "two", 60'000);
  refused(quorum, {}, 75);
  CHECK(quorum[0].get(kJobKey) == "one");
  CHECK(quorum[1].get(kJobKey) == "two");
  CHECK(!quorum[2].exists(kJobKey));
}

TEST_CASE("a dead minority does not keep anybody from the lock, and is one warning") {
  Quorum quorum(5);
  quorum.each(1, 3, [](RedisServer& server) { server.kill9(); });
  const Ending ending = lock(quorum, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(0));
  CHECK(lines_of(ending.err).size() == 1);
  CHECK(contains(ending.err, quorum[1].name()));
  CHECK(contains(ending.err, quorum[2].name()));
}

/// Milliseconds that `true` takes under the lock, with status 0.
milliseconds time_of(const Quorum& quorum) {
  const Ending ending = lock(quorum, {"--ttl", "20s", "job", "true"}).run();
  CHECK_ENDING(ending, exit_with(0));
  return ending.elapsed;
}

/// Neither acquiring nor releasing may wait for those that do not answer: it takes clearly less
/// than the 1 s of --node-timeout longer, and the usual run not even twice as long.
void check_costs_no_time(const Quorum& healthy, const Quorum& ill) {
  std::vector<milliseconds> with;
  std::vector<milliseconds> without;
  for (int round = 0; round < 9; ++round) {
    without.push_back(time_of(healthy));
    with.push_back(time_of(ill));
  }
  const auto median = [](std::vector<milliseconds>& times) {
    std::nth_element(times.begin(), times.begin() + 4, times.end());
    return times[4].count();
  };
  CAPTURE(median(with));
  CAPTURE(median(without));
  CHECK(median(with) <= 2 * median(without) + 5);
}

TEST_CASE("a silent minority costs neither acquisition nor release any time") {
  Quorum healthy(5);
  Quorum ill(5);
  ill.each(0, 2, [](RedisServer& server) { server.pause(); });
  check_costs_no_time(healthy, ill);
  ill.each(0, 2, [](RedisServer& server) { server.resume(); });
  ill.each(0, 2, [](RedisServer& server) {
    CHECK(wait_until([&server] { return server.other_clients() == 0; }));
  });
  CHECK(ill.only_fences_left());
}

TEST_CASE("a black-holed minority costs neither acquisition nor release any time") {
  Quorum healthy(5);
  Quorum ill(5);
  Proxy first(ill[0].port());
  Proxy last(ill[4].port());
  ill.set_url(0, first.url());
  ill.set_url(4, last.url());
  first.swallow();
  last.freeze();
  check_costs_no_time(healthy, ill);
  last.pass();
  CHECK(wait_until([&ill] { return ill[4].other_clients() == 0; }));
  CHECK(ill.only_fences_left());
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
