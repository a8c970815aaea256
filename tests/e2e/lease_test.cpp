// The lease under a running job: kept while the server can be asked, and the job dead in time when
// it cannot be kept.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <functional>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("lease");

namespace redlock::test {
namespace {

/// A job that beats until told to go, with exit status 11.
struct Job {
  RedisServer server;
  TempDir dir;
  std::string log = dir.file("log");
  std::string go = dir.file("go");

  Run start(const std::vector<std::string>& options) {
    Run run = probe_job(server, options,
                        {"enter", log, "job", "spawn", "deaf", log, "job", "beat-until", log, "job",
                         go, "exit", "11"})
                  .start();
    REQUIRE(wait_until([this] { return pids_of(read_log(log), "job").size() == 2; }));
    return run;
  }

  /// Processes of the job that are still alive.
  std::size_t alive() const {
    const auto pids = pids_of(read_log(log), "job");
    return static_cast<std::size_t>(std::count_if(pids.begin(), pids.end(), is_running));
  }

  void check_unharmed(Run& run) {
    CHECK(alive() == 2);
    for (const pid_t pid : children_of(run.command())) ::kill(pid, SIGKILL);
    touch(go);
    CHECK_ENDING(run.wait(), exit_with(11));
    CHECK(only_fences_left(server));
  }
};

TEST_CASE("a server silent past the lease costs the job its life in time, and the exit is 122") {
  Job job;
  Run run = job.start({"--ttl", "2s"});
  job.server.pause();
  const std::int64_t paused = boottime_ns();
  CHECK_ENDING(run.wait(), exit_with(122));
  // No renewal can have been sent after the pause, so no lease lasts longer than this.
  CHECK(last_sign_of_life(read_log(job.log), "job") < paused + 2'000'000'000);
  CHECK(job.alive() == 0);
  CHECK(run.err().find("redlock-run: ") == 0);
  CHECK(contains(run.err(), "127.0.0.1:" + std::to_string(job.server.port())));
  job.server.resume();
}

TEST_CASE("a server that dies under the job costs the job its life in time, and the exit is 122") {
  Job job;
  Run run = job.start({"--ttl", "2s"});
  job.server.kill9();
  const std::int64_t died = boottime_ns();
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(last_sign_of_life(read_log(job.log), "job") < died + 2'000'000'000);
  CHECK(job.alive() == 0);
}

TEST_CASE("a server that comes back before the stop line is not noticed by the job") {
  Job job;
  Run run = job.start({"--ttl", "4s"});
  for (int round = 0; round < 3; ++round) {
    job.server.pause();
    pace(milliseconds(800));  // the stop line is at least 1.4 s away at any time
    job.server.resume();
    CHECK(wait_until([&job] { return job.server.pttl(kJobKey) > 3'300; }));
  }
  job.check_unharmed(run);
}

TEST_CASE("connections cut by the server are replaced without harm to the job") {
  Job job;
  Run run = job.start({"--ttl", "2s"});
  for (int round = 0; round < 3; ++round) {
    job.server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    job.server.reset_counters();
    CHECK(wait_until([&job] { return job.server.script_calls() > 0; }));
    CHECK(wait_until([&job] { return job.server.pttl(kJobKey) > 1'500; }));
  }
  job.check_unharmed(run);
}

TEST_CASE("scripts flushed between renewals do not matter") {
  Job job;
  Run run = job.start({"--ttl", "2s"});
  for (int round = 0; round < 3; ++round) {
    job.server.command({"SCRIPT", "FLUSH"});
    CHECK(wait_until([&job] { return job.server.pttl(kJobKey) > 1'800; }));
    CHECK(wait_until([&job] { return job.server.pttl(kJobKey) < 1'700; }));
  }
  job.check_unharmed(run);
}

TEST_CASE("a server that runs out of memory keeps renewing and releasing a held lock") {
  Job job;
  Run run = job.start({"--ttl", "2s"});
  job.server.command({"CONFIG", "SET", "maxmemory", "1"});
  REQUIRE(job.server.command({"SET", "x", "y"}).text.find("OOM") == 0);
  CHECK(holds_for(milliseconds(4'000), [&job] { return job.server.pttl(kJobKey) > 0; }));
  job.check_unharmed(run);
}

/// `interfere` takes the lock away from a running job of ttl 3 s, which must notice at its next
/// renewal.
void check_lost(const std::function<void(RedisServer&)>& interfere) {
  Job job;
  Run run = job.start({"--ttl", "3s"});
  interfere(job.server);
  const Stopwatch watch;
  CHECK_ENDING(run.wait(), exit_with(122));
  // One renewal interval of 1 s and a grace of 0.75 s, plus what a loaded machine adds.
  CHECK(watch.elapsed() < milliseconds(3'000));
  CHECK(job.alive() == 0);
  CHECK(run.err().find("redlock-run: job: ") == 0);
}

TEST_CASE("a deleted key stops the job within one renewal, exit 122") {
  check_lost([](RedisServer& server) { server.del(kJobKey); });
}

TEST_CASE("a flushed server stops the job within one renewal, exit 122") {
  check_lost([](RedisServer& server) { server.command({"FLUSHALL"}); });
}

TEST_CASE("a server restarted empty stops the job within one renewal, exit 122") {
  check_lost([](RedisServer& server) {
    server.kill9();
    server.restart();
  });
}

TEST_CASE("a key overwritten by somebody else stops the job, exit 122, and stays untouched") {
  Job job;
  Run run = job.start({"--ttl", "3s"});
  job.server.set_px(kJobKey, "somebody-else", 60'000);
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(job.server.get(kJobKey) == "somebody-else");
  CHECK(job.server.pttl(kJobKey) > 30'000);
  CHECK(job.alive() == 0);
}

TEST_CASE("a key overwritten with another type stops the job, exit 122, and stays untouched") {
  Job job;
  Run run = job.start({"--ttl", "3s"});
  job.server.del(kJobKey);
  job.server.command({"RPUSH", kJobKey, "x"});
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(job.server.command({"TYPE", kJobKey}).text == "list");
}

TEST_CASE("a lock lost to somebody else after COMMAND has ended is a warning, not 122") {
  RedisServer server;
  const std::string steal =
      "redis-cli -p " + std::to_string(server.port()) + " set lock:job thief >/dev/null; exit 11";
  const Ending ending = lock(server, {"job", "sh", "-c", steal}).run();
  CHECK_ENDING(ending, exit_with(11));
  CHECK(ending.err.find("redlock-run: job: ") == 0);
  CHECK(server.get(kJobKey) == "thief");
}

TEST_CASE("a lost lease wins over the exit status of a COMMAND that ends during its grace") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {"--ttl", "3s"},
                      {"count", dir.file("signals"), "15", "touch", dir.file("in"), "await",
                       dir.file("signals"), "exit", "0"})
                .start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  server.del(kJobKey);
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(read_file(dir.file("signals")) == "15\n");
}

TEST_CASE("--signal is what a lost lease sends first, and -k 0 sends KILL alone") {
  RedisServer server;
  const TempDir dir;
  for (const bool kill_at_once : {false, true}) {
    const std::string signals = dir.file(kill_at_once ? "killed" : "stopped");
    Run run =
        probe_job(server, {"--ttl", "3s", "--signal", "INT", "-k", kill_at_once ? "0" : "500ms"},
                  {"count", signals, "2,15", "touch", signals, "await", dir.file("never")})
            .start();
    REQUIRE(wait_until([&signals] { return exists(signals); }));
    server.del(kJobKey);
    CHECK_ENDING(run.wait(), exit_with(122));
    CHECK(read_file(signals) == std::string(kill_at_once ? "" : "2\n"));
  }
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
