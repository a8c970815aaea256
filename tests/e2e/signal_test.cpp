// Signals meant for the job reach it exactly once, and it may take its time to answer.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("signal");

namespace redlock::test {
namespace {

/// A job that counts TERM, INT, HUP, QUIT, USR1 and USR2, and exits 7 when told to go.
struct Counting {
  RedisServer server;
  TempDir dir;
  std::string signals = dir.file("signals");
  std::string go = dir.file("go");

  Launch launch(const std::vector<std::string>& options = {}) {
    return probe_job(
        server, options,
        {"count", signals, "1,2,3,10,12,15", "touch", dir.file("in"), "await", go, "exit", "7"});
  }

  Run start(const Launch& prepared) {
    Run run = prepared.start();
    REQUIRE(wait_until([this] { return exists(dir.file("in")); }));
    return run;
  }

  std::string seen() const { return read_file(signals); }
};

TEST_CASE("TERM, INT, HUP, QUIT, USR1 and USR2 reach COMMAND once, and the status is COMMAND's") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    CAPTURE(number);
    Counting job;
    Run run = job.start(job.launch());
    run.signal(number);
    const std::string once = std::to_string(number) + "\n";
    CHECK(wait_until([&] { return !job.seen().empty(); }));
    CHECK(holds_for(milliseconds(100), [&] { return job.seen() == once; }));
    touch(job.go);
    CHECK_ENDING(run.wait(), exit_with(7));
    CHECK(job.seen() == once);
    CHECK(only_fences_left(job.server));
  }
}

TEST_CASE("every repeated signal is passed on again, and repetition does not escalate") {
  Counting job;
  Run run = job.start(job.launch());
  std::string expected;
  for (int round = 0; round < 3; ++round) {
    run.signal(SIGINT);
    expected += "2\n";
    CHECK(wait_until([&] { return job.seen() == expected; }));
  }
  CHECK(!run.ended());
  touch(job.go);
  CHECK_ENDING(run.wait(), exit_with(7));
}

TEST_CASE("a COMMAND without handlers dies of the signal, and so do we, with the lock free") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    CAPTURE(number);
    RedisServer server;
    const TempDir dir;
    Run run = probe_job(server, {}, {"touch", dir.file("in"), "await", dir.file("never")}).start();
    REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
    run.signal(number);
    CHECK_ENDING(run.wait(), killed_by(number));
    CHECK(run.err() == "");
    CHECK(only_fences_left(server));
  }
}

TEST_CASE("the job's cleanup after TERM may take longer than the lease, which is renewed") {
  Counting job;
  Run run = job.start(job.launch({"--ttl", "1s"}));
  run.signal(SIGTERM);
  REQUIRE(wait_until([&] { return job.seen() == "15\n"; }));
  CHECK(holds_for(milliseconds(3'000), [&] { return job.server.exists(kJobKey) && !run.ended(); }));
  CHECK_ENDING(lock(job.server, {"-n", "job", "true"}).run(), exit_with(75));
  touch(job.go);
  CHECK_ENDING(run.wait(), exit_with(7));
  CHECK(only_fences_left(job.server));
}

TEST_CASE("an explicit -k follows a passed-on TERM with KILL") {
  Counting job;
  Run run = job.start(job.launch({"-k", "300ms"}));
  run.signal(SIGTERM);
  CHECK_ENDING(run.wait(), killed_by(SIGKILL));
  CHECK(job.seen() == "15\n");
  CHECK(only_fences_left(job.server));
}

TEST_CASE("signals reach the other processes of the job too, except HUP and USR1") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  for (const int number : {SIGTERM, SIGUSR1, SIGHUP}) {
    CAPTURE(number);
    const std::string signals = dir.file("signals" + std::to_string(number));
    const std::string run_name = "s" + std::to_string(number);
    Run run = probe_job(server, {},
                        {"count", signals, "1,10,15", "spawn", "child", log, run_name, "await",
                         dir.file("go" + run_name), "exit", "7"})
                  .start();
    REQUIRE(wait_until([&] { return count(read_log(log), "beat", run_name) > 0; }));
    const pid_t child = pids_of(read_log(log), run_name).front();
    const std::string line = std::to_string(number) + "\n";
    run.signal(number);
    const std::string all = number == SIGTERM ? line + line : line;
    CHECK(wait_until([&] { return read_file(signals) == all; }));
    CHECK(holds_for(milliseconds(100), [&] { return read_file(signals) == all; }));
    ::kill(child, SIGKILL);
    touch(dir.file("go" + run_name));
    CHECK_ENDING(run.wait(), exit_with(7));
  }
}

TEST_CASE("a stopped job is continued so that it can act on TERM") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {}, {"touch", dir.file("in"), "await", dir.file("never")}).start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  const pid_t job = run.command();
  ::kill(job, SIGSTOP);
  REQUIRE(wait_until([job] { return process_stat(job)->state == 'T'; }));
  run.signal(SIGTERM);
  CHECK_ENDING(run.wait(), killed_by(SIGTERM));
}

TEST_CASE("a signal that the caller ignores stays ignored") {
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    CAPTURE(number);
    Counting job;
    Run run = job.start(
        probe_job(job.server, {}, {"touch", job.dir.file("in"), "await", job.go, "exit", "7"})
            .ignoring(number));
    run.signal(number);
    run.signal(SIGWINCH);  // something harmless behind it
    CHECK(holds_for(milliseconds(200), [&run] { return !run.ended(); }));
    touch(job.go);
    CHECK_ENDING(run.wait(), exit_with(7));
  }
}

TEST_CASE("the job itself cannot stop us by a signal to the front") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {},
                      {"count", dir.file("signals"), "15", "signal-front", "15", "touch",
                       dir.file("in"), "await", dir.file("go"), "exit", "7"})
                .start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  CHECK(holds_for(milliseconds(200), [&] { return !run.ended(); }));
  CHECK(read_file(dir.file("signals")) == "");
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(7));
}

TEST_CASE("a script that starts us in the background can end us with kill $!") {
  RedisServer server;
  const TempDir dir;
  const std::string script = "\"$@\" & until [ -e " + dir.file("in") +
                             " ]; do sleep 0.02; done; kill $!; wait $!; echo $?";
  const Ending ending = Launch({"sh", "-c", script, "sh", binary(), "-r", server.url(), "job",
                                probe(), "touch", dir.file("in"), "await", dir.file("never")})
                            .run();
  CHECK(ending.out == "143\n");
  CHECK(only_fences_left(server));
}

TEST_CASE("the guard is not hit by what is sent to our name, and ignores all but KILL and STOP") {
  Counting job;
  Run run = job.start(job.launch());
  const pid_t guard = run.guard();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP}) {
    ::kill(guard, number);
  }
  CHECK(holds_for(milliseconds(200), [&] { return !run.ended() && is_running(guard); }));
  CHECK(process_stat(guard)->state != 'T');
  CHECK(job.seen() == "");
  touch(job.go);
  CHECK_ENDING(run.wait(), exit_with(7));
}

TEST_CASE("--max-run stops the job with the whole tree and exits 124") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  Run run = probe_job(server, {"--max-run", "1s", "-k", "300ms"},
                      {"spawn", "deaf", log, "a", "spawn", "daemon", log, "a", "spawn", "stopped",
                       log, "a", "beat-forever", log, "a"})
                .start();
  const Ending& ending = run.wait();
  CHECK_ENDING(ending, exit_with(124));
  CHECK(ending.elapsed >= milliseconds(1'000));
  CHECK(ending.elapsed < milliseconds(4'000));
  CHECK(pids_of(read_log(log), "a").size() == 4);
  for (const pid_t pid : pids_of(read_log(log), "a")) CHECK(!is_running(pid));
  CHECK(only_fences_left(server));
}

TEST_CASE("--max-run sends --signal once, then KILL after -k, or KILL alone with -k 0") {
  RedisServer server;
  const TempDir dir;
  for (const bool kill_at_once : {false, true}) {
    const std::string signals = dir.file(kill_at_once ? "killed" : "stopped");
    CHECK_ENDING(
        probe_job(server,
                  {"--max-run", "500ms", "--signal", "SIGINT", "-k", kill_at_once ? "0" : "300ms"},
                  {"count", signals, "2,15", "touch", signals, "await", "never"})
            .run(),
        exit_with(124));
    CHECK(read_file(signals) == std::string(kill_at_once ? "" : "2\n"));
  }
}

TEST_CASE("--max-run does not change the status of a job that ends in time") {
  RedisServer server;
  CHECK_ENDING(lock(server, {"--max-run", "30s", "job", "sh", "-c", "exit 7"}).run(), exit_with(7));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
