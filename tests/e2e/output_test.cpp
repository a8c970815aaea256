// What we write, where, and that a stderr nobody reads never holds up the fence.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("output");

namespace redlock::test {
namespace {

/// Every line must be ours, by its beginning.
void check_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.rfind("redlock-run: ", 0) == 0);
  }
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("a run that succeeds writes nothing") {
  RedisServer server;
  const Ending ending = lock(server, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(0));
  CHECK(ending.out == "");
  CHECK(ending.err == "");
}

TEST_CASE("stdout and stderr carry what COMMAND writes and nothing else") {
  RedisServer server;
  const Ending ending = lock(server, {"job", "sh", "-c", "echo out; echo err >&2; exit 7"}).run();
  CHECK_ENDING(ending, exit_with(7));
  CHECK(ending.out == "out\n");
  CHECK(ending.err == "err\n");
}

TEST_CASE("a held lock is one line, and none with -q") {
  RedisServer server;
  server.set_px(kJobKey, "0123456789abcdef0123456789abcdef.1@web-07:4242:1700000000", 60'000);
  const Ending loud = lock(server, {"job", "true"}).run();
  CHECK_ENDING(loud, exit_with(75));
  CHECK(line_count(loud.err) == 1);
  check_lines(loud.err);
  const Ending quiet = lock(server, {"-q", "job", "true"}).run();
  CHECK_ENDING(quiet, exit_with(75));
  CHECK(quiet.err == "");
}

TEST_CASE("errors and losses are said even with -q") {
  const ReservedPort port;
  const Ending unreachable =
      redlock({"-q", "-r", "redis://127.0.0.1:" + std::to_string(port.number()), "job", "true"})
          .run();
  CHECK_ENDING(unreachable, exit_with(69));
  CHECK(unreachable.err != "");

  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {"-q", "--ttl", "3s"}, {"await", dir.file("never")}).start();
  REQUIRE(wait_until([&server] { return server.exists(kJobKey); }));
  REQUIRE(run.command() > 0);
  server.del(kJobKey);
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(run.err() != "");
}

TEST_CASE("-v tells the changes of state on stderr, every line marked as ours") {
  RedisServer server;
  const Ending ending = lock(server, {"-v", "job", "true"}).run();
  CHECK_ENDING(ending, exit_with(0));
  CHECK(ending.out == "");
  CHECK(line_count(ending.err) >= 2);
  check_lines(ending.err);
}

TEST_CASE("-vv never shows a password") {
  RedisServer server({{}, "s3cret", 0});
  const Ending ending = redlock({"-vv", "-r", server.url(":s3cret"), "job", "true"}).run();
  CHECK_ENDING(ending, exit_with(0));
  CHECK(ending.err != "");
  CHECK(ending.err.find("s3cret") == std::string::npos);
}

TEST_CASE("control characters of a name or holder do not reach the terminal") {
  RedisServer server;
  const std::string name = "a\033[31mb";
  server.set_px("lock:" + name, "holder\033[31m\nredlock-run: forged", 60'000);
  const Ending ending = lock(server, {name, "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(line_count(ending.err) == 1);
  CHECK(ending.err.find('\033') == std::string::npos);
}

/// A job that floods its stderr while beating; the lease is lost by a silent server.
void check_fenced_with_stderr(int err) {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  Run run = probe_job(server, {"-vv", "--ttl", "2s"},
                      {"enter", log, "a", "chatter", "beat-forever", log, "a"})
                .descriptor(2, err)
                .start();
  REQUIRE(wait_until([&log] { return count(read_log(log), "beat", "a") > 0; }));
  CHECK(holds_for(milliseconds(1'500), [&run] { return !run.ended(); }));
  server.pause();
  const std::int64_t paused = boottime_ns();
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(last_sign_of_life(read_log(log), "a") < paused + 2'000'000'000);
  for (const pid_t pid : pids_of(read_log(log), "a")) CHECK(!is_running(pid));
}

TEST_CASE("a full stderr pipe that nobody reads delays neither renewals nor the fence") {
  const Pipe pipe;
  check_fenced_with_stderr(pipe.writer.get());
}

TEST_CASE("a full disk behind stderr delays neither renewals nor the fence") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  check_fenced_with_stderr(full.get());
}

TEST_CASE("a stderr that nobody can be told on leaves every status as it is") {
  RedisServer server;
  Pipe broken;
  broken.reader.reset();
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const int err : {broken.writer.get(), full.get()}) {
    CHECK_ENDING(lock(server, {"-v", "job", "sh", "-c", "exit 7"}).descriptor(2, err).run(),
                 exit_with(7));
    server.set_px(kJobKey, "x", 60'000);
    CHECK_ENDING(lock(server, {"job", "true"}).descriptor(2, err).run(), exit_with(75));
    server.del(kJobKey);
  }
}

TEST_CASE("an inherited stderr is not switched to non-blocking") {
  RedisServer server;
  const Pipe pipe;
  CHECK_ENDING(lock(server, {"-v", "job", "true"}).descriptor(2, pipe.writer.get()).run(),
               exit_with(0));
  CHECK((::fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK) == 0);
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
