// At most one COMMAND at a time, and nothing left when all are gone.
#include <doctest/doctest.h>

#include <algorithm>

#include "support/job_log.h"
#include "support/lock_run.h"

TEST_SUITE_BEGIN("exclusion");

namespace redlock::test {
namespace {

/// Starts rivals for one lock, lets the winner work until all others have given up, and checks that
/// exactly one ran and the others ended with `conflict`.
void check_rivals(const std::vector<std::string>& options, milliseconds apart, int conflict) {
  constexpr std::size_t kRivals = 12;
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  std::vector<Run> runs;
  for (std::size_t i = 0; i < kRivals; ++i) {
    const std::string name = std::to_string(i);
    runs.push_back(
        probe_job(server, options,
                  {"enter", log, name, "await", dir.file("go"), "leave", log, name, "exit", "11"})
            .start());
    pace(apart);
  }
  const auto running = [&runs] {
    return std::count_if(runs.begin(), runs.end(), [](Run& run) { return !run.ended(); });
  };
  CHECK(wait_until([&running] { return running() <= 1; }));
  CHECK(wait_until([&log] { return count(read_log(log), "enter") == 1; }));
  touch(dir.file("go"));

  std::size_t winners = 0;
  for (Run& run : runs) {
    if (run.wait().how == exit_with(11)) {
      ++winners;
      continue;
    }
    CHECK_ENDING(run.wait(), exit_with(conflict));
  }
  CHECK(winners == 1);
  CHECK(count(read_log(log), "enter") == 1);
  CHECK(server.keys() == std::vector<std::string>{kJobFence});
  CHECK(server.pttl(kJobFence) == -1);
}

TEST_CASE("of 12 started together exactly one runs and the others exit 75") {
  check_rivals({}, milliseconds(0), 75);
}

TEST_CASE("of 12 started 100 ms apart exactly one runs and the others exit 75") {
  check_rivals({"-n"}, milliseconds(100), 75);
}

TEST_CASE("-E 0 is the status of the rivals that did not get the lock") {
  check_rivals({"-E", "0"}, milliseconds(0), 0);
}

TEST_CASE("-E 42 is the status of the rivals that did not get the lock") {
  check_rivals({"--conflict-exit-code", "42"}, milliseconds(0), 42);
}

TEST_CASE("12 that wait all run, one after the other") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  std::vector<Run> runs;
  for (int i = 0; i < 12; ++i) {
    const std::string name = std::to_string(i);
    runs.push_back(probe_job(server, {"-w", "60s"},
                             {"enter", log, name, "beat", log, name, "20", "leave", log, name})
                       .start());
  }
  for (Run& run : runs) CHECK_ENDING(run.wait(milliseconds(60'000)), exit_with(0));
  CHECK(count(read_log(log), "leave") == 12);
  CHECK(overlap(read_log(log)) == "");
  CHECK(only_fences_left(server));
}

TEST_CASE("a job ten times longer than its lease keeps the lock throughout") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  Run holder = probe_job(server, {"--ttl", "1s"},
                         {"enter", log, "holder", "beat-until", log, "holder", dir.file("go"),
                          "leave", log, "holder", "exit", "11"})
                   .start();
  REQUIRE(wait_until([&log] { return count(read_log(log), "enter") == 1; }));
  const auto token = server.get(kJobKey);
  REQUIRE(token);
  const Stopwatch watch;
  for (int attempt = 0; watch.elapsed() < milliseconds(10'000); ++attempt) {
    const std::string name = "rival" + std::to_string(attempt);
    CHECK_ENDING(probe_job(server, {"--ttl", "5s", "-n"}, {"enter", log, name}).run(),
                 exit_with(75));
    CHECK(server.get(kJobKey) == token);
    pace(milliseconds(50));
  }
  REQUIRE(!holder.ended());
  touch(dir.file("go"));
  CHECK_ENDING(holder.wait(), exit_with(11));
  CHECK(count(read_log(log), "enter") == 1);
  CHECK(only_fences_left(server));
}

TEST_CASE("a lock without a server-side holder is free again after a crash of everything") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  {
    const Run crashed =
        probe_job(server, {"--ttl", "1s"}, {"enter", log, "a", "beat-forever", log, "a"}).start();
    REQUIRE(wait_until([&log] { return count(read_log(log), "beat", "a") > 0; }));
  }  // kill -9 of all processes in one go
  CHECK(server.exists(kJobKey));
  CHECK_ENDING(probe_job(server, {"-w", "30s"}, {"enter", log, "b"}).run(), exit_with(0));
  CHECK(overlap(read_log(log)) == "");
}

TEST_CASE("jobs with different names do not exclude each other") {
  RedisServer server;
  const TempDir dir;
  Run first = probe_job(server, {}, {"touch", dir.file("in"), "await", dir.file("go")}).start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  CHECK_ENDING(lock(server, {"other", "true"}).run(), exit_with(0));
  touch(dir.file("go"));
  CHECK_ENDING(first.wait(), exit_with(0));
}

TEST_CASE("the same name in another database is another lock") {
  RedisServer server;
  const TempDir dir;
  Run first = probe_job(server, {}, {"touch", dir.file("in"), "await", dir.file("go")}).start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  CHECK_ENDING(redlock({"-r", server.url("", "/3"), "job", "true"}).run(), exit_with(0));
  CHECK_ENDING(redlock({"-r", server.url("", "/0"), "job", "true"}).run(), exit_with(75));
  touch(dir.file("go"));
  CHECK_ENDING(first.wait(), exit_with(0));
}

TEST_CASE("a key that another program set with an expiry is respected and left alone") {
  RedisServer server;
  server.set_px("job", "0123456789abcdef", 60'000);
  CHECK_ENDING(lock(server, {"--prefix", "", "job", "true"}).run(), exit_with(75));
  CHECK(server.get("job") == "0123456789abcdef");
  CHECK(server.pttl("job") > 30'000);
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
