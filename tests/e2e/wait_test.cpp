// Waiting for a lock: as long as asked, no longer, at little cost, and able to stop at once.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <regex>

#include "support/lock_run.h"

TEST_SUITE_BEGIN("wait");

namespace redlock::test {
namespace {

/// A lock held by a job until told to go.
struct Held {
  RedisServer server;
  TempDir dir;
  std::string go = dir.file("go");
  Run holder = probe_job(server, {}, {"touch", dir.file("in"), "await", go}).start();

  Held() {
    REQUIRE(wait_until([this] { return exists(dir.file("in")); }));
    server.reset_counters();
  }
  void wait_for_a_question() {
    REQUIRE(wait_until([this] { return server.script_calls() > 0; }));
  }
  void end() {
    touch(go);
    CHECK_ENDING(holder.wait(), exit_with(0));
    CHECK(only_fences_left(server));
  }
};

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

TEST_CASE(
    "a held lock is reported with the holder's host, pid, age and what is left of its lease") {
  Held held;
  const Ending ending = lock(held.server, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(ending.out == "");
  const std::regex line(
      "redlock-run: job: held by (\\S+) \\(pid (\\d+)\\) for ([0-9hms.]+), "
      "lease ends in ([0-9hms.]+)\n");
  std::smatch part;
  REQUIRE_MESSAGE(std::regex_match(ending.err, part, line), ending.err);
  CHECK(part[1] == this_host());
  CHECK(part[2] == std::to_string(held.holder.pid()));
  held.end();
}

TEST_CASE("-w D gives up at D with 75") {
  Held held;
  const Ending ending = lock(held.server, {"-w", "1.5s", "job", "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(ending.elapsed >= milliseconds(1'500));
  CHECK(ending.elapsed < milliseconds(4'000));
  CHECK(contains(ending.err, "held by"));
  held.end();
}

TEST_CASE("-w D with -E N gives up with N") {
  Held held;
  CHECK_ENDING(lock(held.server, {"-w", "300ms", "-E", "3", "job", "true"}).run(), exit_with(3));
  held.end();
}

TEST_CASE("-w 0 is -n: one question, no waiting") {
  Held held;
  const Ending ending = lock(held.server, {"-w", "0", "job", "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(held.server.script_calls() == 1);
  held.end();
}

TEST_CASE("-n asks a held lock once and leaves nothing to clean up") {
  Held held;
  CHECK_ENDING(lock(held.server, {"-n", "job", "true"}).run(), exit_with(75));
  CHECK(held.server.script_calls() == 1);
  held.end();
}

TEST_CASE("a waiter gets the lock soon after its release") {
  Held held;
  Run waiter = lock(held.server, {"-w", "inf", "job", "sh", "-c", "exit 7"}).start();
  held.wait_for_a_question();
  touch(held.go);
  CHECK_ENDING(held.holder.wait(), exit_with(0));
  const Stopwatch released;
  CHECK_ENDING(waiter.wait(), exit_with(7));
  CHECK(released.elapsed() < milliseconds(5'000));
  CHECK(only_fences_left(held.server));
}

TEST_CASE("a waiter gets the lock soon after the holder's lease has expired, and not before") {
  RedisServer server;
  server.set_px(kJobKey, "gone-holder", 1'500);
  const Ending ending = lock(server, {"-w", "30s", "job", "sh", "-c", "exit 7"}).run();
  CHECK_ENDING(ending, exit_with(7));
  CHECK(ending.elapsed >= milliseconds(1'300));
  CHECK(ending.elapsed < milliseconds(5'000));
}

TEST_CASE("a signal while waiting ends us by that signal, and COMMAND never starts") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    CAPTURE(number);
    Held held;
    const auto token = held.server.get(kJobKey);
    Run waiter = lock(held.server, {"-w", "60s", "job", "touch", held.dir.file("started")}).start();
    held.wait_for_a_question();
    waiter.signal(number);
    const Stopwatch since;
    CHECK_ENDING(waiter.wait(), killed_by(number));
    CHECK(since.elapsed() < milliseconds(2'000));
    CHECK(held.server.get(kJobKey) == token);
    held.end();
    CHECK(!exists(held.dir.file("started")));
  }
}

TEST_CASE("a signal that the caller ignores does not end the waiting") {
  Held held;
  Run waiter =
      lock(held.server, {"-w", "60s", "job", "sh", "-c", "exit 7"}).ignoring(SIGHUP).start();
  held.wait_for_a_question();
  waiter.signal(SIGHUP);
  CHECK(holds_for(milliseconds(200), [&waiter] { return !waiter.ended(); }));
  touch(held.go);
  CHECK_ENDING(waiter.wait(), exit_with(7));
}

TEST_CASE("waiting costs little time and few requests") {
  Held held;
  const Ending ending = lock(held.server, {"-w", "4s", "job", "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(ending.cpu < milliseconds(1'000));
  // Polling starts in tenths of a second and grows.
  CHECK(held.server.script_calls() <= 40);
  held.end();
}

TEST_CASE("a key of another type is held in a foreign format, said so, and never touched") {
  RedisServer server;
  server.command({"RPUSH", kJobKey, "x"});
  const Ending ending = lock(server, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(ending.err.find("redlock-run: job: ") == 0);
  CHECK(contains(ending.err, "foreign format"));
  CHECK_ENDING(lock(server, {"-w", "500ms", "job", "true"}).run(), exit_with(75));
  CHECK(server.command({"LLEN", kJobKey}).integer == 1);
  CHECK(server.keys() == std::vector<std::string>{kJobKey});
}

TEST_CASE("a key without expiry is held for ever, said so, and never touched") {
  RedisServer server;
  server.set(kJobKey, "some-other-program");
  const Ending ending = lock(server, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(75));
  CHECK(std::regex_search(
      ending.err,
      std::regex("never expires|no expiry|without (an )?(expiry|ttl)", std::regex::icase)));
  CHECK(server.get(kJobKey) == "some-other-program");
  CHECK(server.pttl(kJobKey) == -1);
}

TEST_CASE("a server that starts during the wait is used") {
  ReservedPort port;
  Run waiter = redlock({"-r", "redis://127.0.0.1:" + std::to_string(port.number()), "-w", "60s",
                        "job", "sh", "-c", "exit 7"})
                   .start();
  CHECK(holds_for(milliseconds(500), [&waiter] { return !waiter.ended(); }));
  const std::uint16_t number = port.number();
  port.release();
  RedisServer server({{}, "", number});
  CHECK_ENDING(waiter.wait(), exit_with(7));
  CHECK(only_fences_left(server));
}

TEST_CASE("a server that never answers during the wait is 69 at its end") {
  const ReservedPort port;
  const Ending ending = redlock({"-r", "redis://127.0.0.1:" + std::to_string(port.number()), "-w",
                                 "1s", "job", "true"})
                            .run();
  CHECK_ENDING(ending, exit_with(69));
  CHECK(ending.elapsed >= milliseconds(1'000));
  CHECK(ending.elapsed < milliseconds(5'000));
}

TEST_CASE("a server restarted while we wait for a held lock is ridden out") {
  RedisServer server;
  server.set_px(kJobKey, "holder", 60'000);
  server.reset_counters();
  Run waiter = lock(server, {"-w", "60s", "job", "sh", "-c", "exit 7"}).start();
  REQUIRE(wait_until([&server] { return server.script_calls() > 0; }));
  server.kill9();
  server.restart();
  CHECK_ENDING(waiter.wait(), exit_with(7));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
