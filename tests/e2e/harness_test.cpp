// The harness itself: a test that cannot fail would be worse than none.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("harness");

namespace redlock::test {
namespace {

JobLog two_runs(std::int64_t first_end, std::int64_t second_start) {
  return {{"enter", "a", 1, 100},
          {"beat", "a", 2, first_end},
          {"enter", "b", 3, second_start},
          {"leave", "b", 3, second_start + 100}};
}

TEST_CASE("the overlap checker is content with runs one after the other") {
  CHECK(overlap({}).empty());
  CHECK(overlap(two_runs(200, 201)).empty());
}

TEST_CASE("the overlap checker finds two runs alive at the same time") {
  CHECK(!overlap(two_runs(200, 200)).empty());
  CHECK(!overlap(two_runs(200, 150)).empty());
  CHECK(!overlap(two_runs(1'000, 150)).empty());  // the second inside the first
}

TEST_CASE("the overlap checker compares with the longest run, not with the neighbour") {
  JobLog log = two_runs(1'000, 150);
  log.push_back({"enter", "c", 4, 900});
  std::erase_if(log, [](const Stamp& stamp) { return stamp.run == "b"; });
  CHECK(!overlap(log).empty());
}

TEST_CASE("two jobs without a lock are caught overlapping") {
  const TempDir dir;
  const std::string log = dir.file("log");
  std::vector<Run> runs;
  for (const std::string name : {"a", "b"}) {
    runs.push_back(
        Launch({probe(), "enter", log, name, "await", dir.file("go"), "leave", log, name}).start());
  }
  REQUIRE(wait_until([&log] { return count(read_log(log), "enter") == 2; }));
  touch(dir.file("go"));
  for (Run& run : runs) CHECK_ENDING(run.wait(), exit_with(0));
  CHECK(!overlap(read_log(log)).empty());
}

TEST_CASE("the checker says when runs have an unprotected stand-in for the lock") {
  // `timeout` locks nothing; if the checks of the other tests passed with it they would be empty.
  const TempDir dir;
  const std::string log = dir.file("log");
  std::vector<Run> runs;
  for (const std::string name : {"a", "b", "c"}) {
    runs.push_back(
        Launch({"timeout", "60", probe(), "enter", log, name, "beat", log, name, "300"}).start());
  }
  for (Run& run : runs) CHECK_ENDING(run.wait(), exit_with(0));
  CHECK(!overlap(read_log(log)).empty());
}

TEST_CASE("an ending names exit statuses and signals apart") {
  CHECK(Launch({"sh", "-c", "exit 137"}).run().how == exit_with(137));
  CHECK(Launch({"sh", "-c", "kill -9 $$"}).run().how == killed_by(SIGKILL));
}

TEST_CASE("output of any size is captured without a reader") {
  const Ending ending =
      Launch({"sh", "-c", "head -c 1000000 /dev/zero; head -c 500000 /dev/zero >&2"}).run();
  CHECK(ending.out.size() == 1'000'000);
  CHECK(ending.err.size() == 500'000);
}

TEST_CASE("a launched program finds exactly the conditions asked for") {
  const TempDir dir;
  const std::string report = dir.file("report");
  const Pipe pipe;
  CHECK_ENDING(Launch({probe(), "report", report})
                   .env("A", "b")
                   .descriptor(7, pipe.writer.get())
                   .closed(1)
                   .cwd("/usr")
                   .umask(027)
                   .ignoring(SIGUSR1)
                   .blocking(SIGUSR2)
                   .run(),
               exit_with(0));
  const std::string text = read_file(report);
  CAPTURE(text);
  CHECK(text.find("fd 0 /dev/null\nfd 2 ") == 0);
  CHECK(contains(text, "fd 7 pipe:"));
  CHECK(text.find("\nfd 3 ") == std::string::npos);
  CHECK(contains(text, "cwd /usr\n"));
  CHECK(contains(text, "umask 27\n"));
  CHECK(contains(text, "ignored 10\nblocked 12\n"));
  CHECK(contains(text, "env A=b\n"));
}

TEST_CASE("a run that goes out of scope leaves nothing running") {
  const TempDir dir;
  const std::string log = dir.file("log");
  std::vector<pid_t> pids;
  {
    const Run run = Launch({probe(), "spawn", "daemon", log, "a", "spawn", "session", log, "a",
                            "beat-forever", log, "a"})
                        .start();
    REQUIRE(wait_until([&log] { return pids_of(read_log(log), "a").size() == 3; }));
    pids = pids_of(read_log(log), "a");
    CHECK(is_running(pids.front()));
  }
  kill_orphans();
  for (const pid_t pid : pids) CHECK(!is_running(pid));
}

TEST_CASE("a zombie counts as dead") {
  Run run = Launch({"true"}).start();
  CHECK(wait_until([&run] { return !is_running(run.pid()); }));
  CHECK(process_stat(run.pid())->state == 'Z');
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("a redis server answers, pauses, dies and comes back empty on its port") {
  RedisServer server;
  server.set("k", "v");
  CHECK(server.get("k") == "v");
  CHECK(server.pttl("k") == -1);
  CHECK(server.pttl("none") == -2);
  server.reset_counters();
  server.get("k");
  CHECK(server.calls("get") == 1);
  CHECK(server.other_clients() == 0);
  const std::uint16_t port = server.port();
  server.pause();
  server.resume();
  CHECK(server.get("k") == "v");
  server.kill9();
  server.restart();
  CHECK(server.port() == port);
  CHECK(server.keys().empty());
}

TEST_CASE("a redis server with a password lets nobody else in") {
  RedisServer server({{}, "s3cret", 0});
  CHECK(server.keys().empty());
  CHECK(Launch({"redis-cli", "-p", std::to_string(server.port()), "get", "x"})
            .run()
            .out.find("NOAUTH") == 0);
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
