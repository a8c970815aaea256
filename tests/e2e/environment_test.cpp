// What COMMAND learns from its environment, and the secrets that it and others must not see.
#include <doctest/doctest.h>

#include <chrono>
#include <regex>

#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("environment");

namespace redlock::test {
namespace {

constexpr const char* kSecret = "s3cret-pass";

/// COMMAND's environment, one variable a line.
std::string environment_of(const Launch& launch) {
  const Ending ending = launch.run();
  CHECK_ENDING(ending, exit_with(0));
  return "\n" + ending.out;
}

/// The fencing token that one run gets.
unsigned long long fence(const RedisServer& server) {
  const Ending ending = lock(server, {"job", "sh", "-c", "echo $REDLOCK_FENCE"}).run();
  CHECK_ENDING(ending, exit_with(0));
  return std::stoull(ending.out);
}

unsigned long long wall_clock_ms() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(
      std::chrono::duration_cast<milliseconds>(since_epoch).count());
}

TEST_CASE("COMMAND learns name, key, token, fence and ttl of its lock") {
  RedisServer server;
  const TempDir dir;
  Run run = lock(server, {"--ttl", "20s", "a job", "sh", "-c",
                          "env; touch " + dir.file("in") + "; until [ -e " + dir.file("go") +
                              " ]; do sleep 0.02; done"})
                .start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  const std::string env = "\n" + run.out();
  CAPTURE(env);
  CHECK(contains(env, "\nREDLOCK_NAME=a job\n"));
  CHECK(contains(env, "\nREDLOCK_KEY=lock:a job\n"));
  CHECK(contains(env, "\nREDLOCK_TTL_MS=20000\n"));
  CHECK(contains(env, "\nREDLOCK_TOKEN=" + server.get("lock:a job").value_or("?") + "\n"));
  CHECK(contains(env, "\nREDLOCK_FENCE=" + server.get("{lock:a job}:fence").value_or("?") + "\n"));
  CHECK(!contains(env, "\nREDLOCK_SLOT="));
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("the token names run, attempt, host, process and start") {
  RedisServer server;
  const Ending ending = lock(server, {"job", "sh", "-c", "echo $REDLOCK_TOKEN"}).run();
  CHECK(std::regex_match(ending.out, std::regex("[0-9a-f]{32}\\.[0-9]+@[^:]+:[0-9]+:[0-9]+\n")));
  const Ending again = lock(server, {"job", "sh", "-c", "echo $REDLOCK_TOKEN"}).run();
  CHECK(ending.out.substr(0, 32) != again.out.substr(0, 32));
}

TEST_CASE("the fencing token grows with every run, and across the loss of all data") {
  RedisServer server;
  unsigned long long last = wall_clock_ms() - 60'000;  // never below the clock's floor
  for (int round = 0; round < 5; ++round) {
    const unsigned long long next = fence(server);
    CHECK(next > last);
    last = next;
  }
  pace(milliseconds(20));
  server.command({"FLUSHALL"});
  CHECK(fence(server) > last);
}

TEST_CASE("the fencing token grows from a counter that is ahead of the clock") {
  RedisServer server;
  server.set(kJobFence, "9000000000000000");
  CHECK(fence(server) == 9000000000000001ULL);
  CHECK(fence(server) == 9000000000000002ULL);
}

TEST_CASE("variables of the service manager are taken out, others are left alone") {
  RedisServer server;
  const std::string env = environment_of(lock(server, {"job", "env"})
                                             .env("NOTIFY_SOCKET", "/run/none")
                                             .env("WATCHDOG_USEC", "1000000")
                                             .env("WATCHDOG_PID", "1")
                                             .env("LISTEN_FDS", "1")
                                             .env("EMPTY", "")
                                             .env("ODD", "a=b c\"'"));
  CHECK(!contains(env, "NOTIFY_SOCKET"));
  CHECK(!contains(env, "WATCHDOG_"));
  CHECK(contains(env, "\nLISTEN_FDS=1\n"));
  CHECK(contains(env, "\nEMPTY=\n"));
  CHECK(contains(env, "\nODD=a=b c\"'\n"));
}

TEST_CASE("LISTEN_PID follows when it meant us, and stays when it meant somebody else") {
  RedisServer server;
  const std::vector<std::string> rest{binary(), "-r", server.url(),           "job",
                                      "sh",     "-c", "test $LISTEN_PID = $$"};
  CHECK_ENDING(Launch({"sh", "-c", "export LISTEN_PID=$$; exec \"$@\"", "sh"}).args(rest).run(),
               exit_with(0));
  CHECK_ENDING(Launch({"sh", "-c", "export LISTEN_PID=1; exec \"$@\"", "sh"}).args(rest).run(),
               exit_with(1));
}

TEST_CASE("a password is taken from the environment and kept from COMMAND") {
  RedisServer server({{}, kSecret, 0});
  const std::string env =
      environment_of(lock(server, {"job", "env"}).env("REDLOCK_RUN_PASSWORD", kSecret));
  CHECK(contains(env, "\nREDLOCK_NAME=job\n"));
  CHECK(!contains(env, "REDLOCK_RUN_PASSWORD"));
  CHECK(!contains(env, kSecret));
}

TEST_CASE("REDISCLI_AUTH is used, and left for COMMAND") {
  RedisServer server({{}, kSecret, 0});
  const std::string env =
      environment_of(lock(server, {"job", "env"}).env("REDISCLI_AUTH", kSecret));
  CHECK(contains(env, "\nREDISCLI_AUTH=" + std::string(kSecret) + "\n"));
}

TEST_CASE("a password inside REDLOCK_RUN_REDIS is cut out for COMMAND, the rest stays") {
  RedisServer server({{}, kSecret, 0});
  const std::string env = environment_of(
      redlock({"job", "env"}).env("REDLOCK_RUN_REDIS", server.url(std::string(":") + kSecret)));
  CHECK(!contains(env, kSecret));
  CHECK(contains(env, "\nREDLOCK_RUN_REDIS=redis://"));
  CHECK(contains(env, "127.0.0.1:" + std::to_string(server.port())));
}

TEST_CASE("no password can be read from our processes while the job runs") {
  RedisServer server({{}, kSecret, 0});
  const std::string url = server.url(std::string("default:") + kSecret);
  const TempDir dir;
  const auto check_clean = [&dir](Launch launch) {
    const std::string go = dir.file("go");
    Run run = launch.args({"job", probe(), "await", go}).start();
    const pid_t command = run.command();
    for (const pid_t pid : {run.pid(), run.guard(), command}) {
      CAPTURE(process_stat(pid)->name);
      // Empty for a moment while it is being executed.
      CHECK(wait_until([pid] { return proc_file(pid, "cmdline") != ""; }));
      CHECK(!contains(proc_file(pid, "cmdline"), kSecret));
      CHECK(!contains(proc_file(pid, "environ"), kSecret));
    }
    touch(go);
    CHECK_ENDING(run.wait(), exit_with(0));
    std::remove(go.c_str());
  };
  check_clean(redlock({"-r", url}));
  check_clean(redlock({"--redis=" + url}));
  check_clean(redlock({}).env("REDLOCK_RUN_REDIS", url));
  check_clean(lock(server, {}).env("REDLOCK_RUN_PASSWORD", kSecret));
}

TEST_CASE("the processes of a run are told apart by name") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {}, {"await", dir.file("go")}).start();
  CHECK(process_stat(run.guard())->name == "redlock-guard");
  CHECK(process_stat(run.pid())->name == "redlock-run");
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
