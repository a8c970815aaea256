// Whatever happens to our own processes, the job's whole tree is dead before another may start.
#include <doctest/doctest.h>
#include <signal.h>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("fence");

namespace redlock::test {
namespace {

/// Six ways in which a process escapes somebody, and how many processes they and the main one are.
const std::vector<std::string> kEscapes{"child", "deaf", "session", "daemon", "stopped", "busy"};

/// A holder whose job has processes of every shape, and a rival that waits for the lock.
struct Duel {
  RedisServer server;
  TempDir dir;
  std::string log = dir.file("log");
  std::string go = dir.file("go");

  Launch holder(const std::vector<std::string>& options = {"--ttl", "2s"}) {
    std::vector<std::string> actions{"enter", log, "first"};
    for (const std::string& shape : kEscapes) {
      actions.insert(actions.end(), {"spawn", shape, log, "first"});
    }
    actions.insert(actions.end(), {"beat-forever", log, "first"});
    return probe_job(server, options, actions);
  }

  Run start_holder(const Launch& launch) {
    Run run = launch.start();
    REQUIRE(wait_until(
        [this] { return pids_of(read_log(log), "first").size() == kEscapes.size() + 1; }));
    return run;
  }

  Run start_rival() {
    Run run =
        probe_job(server, {"--ttl", "10s", "-w", "30s"},
                  {"enter", log, "second", "beat-until", log, "second", go, "leave", log, "second"})
            .start();
    server.reset_counters();
    REQUIRE(wait_until([this] { return server.script_calls() > 0; }));
    return run;
  }

  /// Waits until the rival's COMMAND runs; then nobody of the first job may be left.
  void check_handed_over() {
    REQUIRE(wait_until([this] { return entered(read_log(log), "second") >= 0; }));
    for (const pid_t pid : pids_of(read_log(log), "first")) {
      CAPTURE(pid);
      CHECK(!is_running(pid));
    }
  }

  void finish(Run& rival) {
    touch(go);
    CHECK_ENDING(rival.wait(), exit_with(0));
    CHECK(overlap(read_log(log)) == "");
    CHECK(only_fences_left(server));
  }
};

TEST_CASE("kill -9 of the front kills the whole tree before the lock is free") {
  Duel duel;
  Run holder = duel.start_holder(duel.holder());
  Run rival = duel.start_rival();
  holder.signal(SIGKILL);
  duel.check_handed_over();
  CHECK_ENDING(holder.wait(), killed_by(SIGKILL));
  duel.finish(rival);
}

TEST_CASE("kill -9 of the guard kills the whole tree, then frees the lock, and exits 122") {
  Duel duel;
  Run holder = duel.start_holder(duel.holder());
  Run rival = duel.start_rival();
  ::kill(holder.guard(), SIGKILL);
  duel.check_handed_over();
  CHECK_ENDING(holder.wait(), exit_with(122));
  CHECK(holder.err() != "");
  duel.finish(rival);
}

TEST_CASE("a front stopped past its lease has its tree killed in time and does not take back") {
  Duel duel;
  Run holder = duel.start_holder(duel.holder());
  Run rival = duel.start_rival();
  holder.signal(SIGSTOP);
  duel.check_handed_over();
  const auto rivals_token = duel.server.get(kJobKey);
  holder.signal(SIGCONT);
  CHECK_ENDING(holder.wait(), exit_with(122));
  CHECK(duel.server.get(kJobKey) == rivals_token);
  duel.finish(rival);
}

TEST_CASE("a front stopped for less than the time to the stop line costs the job nothing") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {"--ttl", "4s"},
                      {"touch", dir.file("in"), "await", dir.file("go"), "exit", "11"})
                .start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  run.signal(SIGSTOP);
  pace(milliseconds(800));  // the stop line is at least 1.4 s away at any time
  run.signal(SIGCONT);
  // It renews at once or at its next turn: the lease is longer again than it can be without.
  CHECK(wait_until([&server] { return server.pttl(kJobKey) > 3'300; }));
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(11));
}

TEST_CASE("kill -9 of the front also reaches a COMMAND that ignores TERM and has no children") {
  Duel duel;
  Run holder =
      probe_job(duel.server, {"--ttl", "2s", "-k", "200ms"},
                {"ignore", "15", "enter", duel.log, "first", "beat-forever", duel.log, "first"})
          .start();
  REQUIRE(wait_until([&duel] { return count(read_log(duel.log), "beat", "first") > 0; }));
  Run rival = duel.start_rival();
  holder.signal(SIGKILL);
  duel.check_handed_over();
  duel.finish(rival);
}

TEST_CASE("after kill -9 of the front the job gets TERM, and KILL only after the grace") {
  Duel duel;
  const std::string signals = duel.dir.file("signals");
  Run holder = probe_job(duel.server, {"--ttl", "10s", "-k", "1s"},
                         {"count", signals, "15", "enter", duel.log, "first", "beat-forever",
                          duel.log, "first"})
                   .start();
  REQUIRE(wait_until([&duel] { return count(read_log(duel.log), "beat", "first") > 0; }));
  const pid_t job = holder.command();
  const std::int64_t killed = boottime_ns();
  holder.signal(SIGKILL);
  CHECK(wait_until([job] { return !is_running(job); }));
  CHECK(read_file(signals) == "15\n");
  CHECK(last_sign_of_life(read_log(duel.log), "first") > killed + 500'000'000);
  CHECK(last_sign_of_life(read_log(duel.log), "first") < killed + 5'000'000'000);
}

TEST_CASE("a lost lease gives TERM even to processes in other sessions before it kills them") {
  Duel duel;
  Run holder = duel.start_holder(duel.holder({"--ttl", "6s"}));
  duel.server.del(kJobKey);
  CHECK_ENDING(holder.wait(), exit_with(122));
  CHECK(count(read_log(duel.log), "term", "first") == 1);
  for (const pid_t pid : pids_of(read_log(duel.log), "first")) CHECK(!is_running(pid));
}

TEST_CASE("a COMMAND that obeys TERM does not save its deaf descendants from the KILL") {
  Duel duel;
  Run holder = probe_job(duel.server, {"--ttl", "2s"},
                         {"enter", duel.log, "first", "spawn", "session", duel.log, "first",
                          "spawn", "daemon", duel.log, "first", "beat-forever", duel.log, "first"})
                   .start();
  REQUIRE(wait_until([&duel] { return pids_of(read_log(duel.log), "first").size() == 3; }));
  Run rival = duel.start_rival();
  duel.server.pause();
  const std::int64_t paused = boottime_ns();
  const auto tree = pids_of(read_log(duel.log), "first");
  for (const pid_t pid : tree) CHECK(wait_until([pid] { return !is_running(pid); }));
  CHECK(last_sign_of_life(read_log(duel.log), "first") < paused + 2'000'000'000);
  duel.server.resume();
  CHECK_ENDING(holder.wait(), exit_with(122));
  duel.check_handed_over();
  duel.finish(rival);
}

TEST_CASE("timeout -s KILL around us leaves no process of the job") {
  Duel duel;
  Launch wrapped({"timeout", "-s", "KILL", "2", binary(), "-r", duel.server.url(), "--ttl", "2s",
                  "job", probe()});
  wrapped.args({"enter", duel.log, "first", "spawn", "deaf", duel.log, "first", "spawn", "daemon",
                duel.log, "first", "beat-forever", duel.log, "first"});
  Run run = wrapped.start();
  REQUIRE(wait_until([&duel] { return pids_of(read_log(duel.log), "first").size() == 3; }));
  run.wait();
  for (const pid_t pid : pids_of(read_log(duel.log), "first")) {
    CHECK(wait_until([pid] { return !is_running(pid); }));
  }
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
