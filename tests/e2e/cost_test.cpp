// What a lock costs its server and its machine, counted, not timed.
#include <doctest/doctest.h>
#include <unistd.h>

#include "support/lock_run.h"
#include "support/process.h"
#include "support/quorum.h"

TEST_SUITE_BEGIN("cost");

namespace redlock::test {
namespace {

TEST_CASE("acquiring and releasing are one request each") {
  RedisServer server;
  server.reset_counters();
  CHECK_ENDING(lock(server, {"job", "true"}).run(), exit_with(0));
  CHECK(server.script_calls() == 2);
  CHECK(server.calls("role") == 0);
  CHECK(server.calls("ping") == 0);
}

TEST_CASE("with five servers it is one request to each as well, run after run") {
  Quorum quorum(5);
  quorum.each(0, 5, [](RedisServer& server) { server.reset_counters(); });
  for (int run = 0; run < 3; ++run) {
    CHECK_ENDING(lock(quorum, {"job", "sleep", "0.2"}).run(), exit_with(0));
  }
  quorum.each(0, 5, [](RedisServer& server) {
    // Agreeing on the fencing number takes no request of its own.
    CHECK(server.script_calls() == 6);
    CHECK(server.calls("role") == 0);
  });
}

TEST_CASE("a run uses one connection") {
  RedisServer server;
  server.reset_counters();
  CHECK_ENDING(lock(server, {"job", "true"}).run(), exit_with(0));
  // Counted since the reset, so without the test's own.
  CHECK(server.info("stats", "total_connections_received") == "1");
}

TEST_CASE("a held lock is renewed every third of its ttl, with few wake-ups of our processes") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {"--ttl", "1500ms"}, {"await", dir.file("go")}).start();
  const pid_t guard = run.guard();
  REQUIRE(run.command() > 0);
  pace(milliseconds(300));  // starting up is not holding
  const char* switches = "voluntary_ctxt_switches";
  const long front_before = status_number(run.pid(), switches);
  const long guard_before = status_number(guard, switches);
  server.reset_counters();
  const Stopwatch watch;
  REQUIRE(wait_until([&server] { return server.script_calls() >= 8; }));
  const auto intervals = watch.elapsed() / milliseconds(500);
  const long front = status_number(run.pid(), switches) - front_before;
  const long held_guard = status_number(guard, switches) - guard_before;
  CAPTURE(front);
  CAPTURE(held_guard);
  CHECK(intervals >= 6);
  CHECK(intervals <= 12);
  CHECK(front <= 8 * 4);
  CHECK(held_guard <= 8 * 2);
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("nothing of us is left on the machine after a run") {
  RedisServer server;
  Run run = lock(server, {"job", "true"}).start();
  CHECK_ENDING(run.wait(), exit_with(0));
  CHECK(wait_until([&server] { return children_of(::getpid()) == std::vector{server.pid()}; }));
  CHECK(wait_until([&server] { return server.other_clients() == 0; }));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
