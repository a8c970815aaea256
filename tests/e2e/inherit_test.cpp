// COMMAND finds the world as redlock-run's caller left it, and nothing of ours in it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <sstream>

#include "support/lock_run.h"
#include "support/process.h"

TEST_SUITE_BEGIN("inherit");

namespace redlock::test {
namespace {

/// A probe's report without what differs between any two processes, and without our additions.
std::string comparable(const std::string& report) {
  std::string kept;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    const bool varies = line.rfind("pid ", 0) == 0 || line.rfind("group ", 0) == 0 ||
                        line.rfind("session ", 0) == 0 || line.rfind("env REDLOCK_", 0) == 0;
    if (!varies) kept += line + "\n";
  }
  return kept;
}

/// Reports of a probe run directly and under a lock, with the same preparations.
struct Reports {
  std::string direct;
  std::string locked;
};

Reports compare(const RedisServer& server, const std::function<void(Launch&)>& prepare,
                const std::vector<std::string>& options = {}) {
  const TempDir dir;
  const UniqueFd sink(::open(dir.file("sink").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  Launch direct({probe(), "report", dir.file("direct")});
  Launch locked = probe_job(server, options, {"report", dir.file("locked")});
  for (Launch* launch : {&direct, &locked}) {
    launch->descriptor(1, sink.get()).descriptor(2, sink.get());
    prepare(*launch);
    CHECK_ENDING(launch->run(), exit_with(0));
  }
  const Reports reports{comparable(read_file(dir.file("direct"))),
                        comparable(read_file(dir.file("locked")))};
  CHECK(read_file(dir.file("sink")) == "");
  CHECK(reports.direct != "");
  return reports;
}

TEST_CASE("COMMAND's descriptors, signals, directory, limits and environment are the caller's") {
  RedisServer server;
  const Reports reports = compare(server, [](Launch&) {});
  CHECK(reports.locked == reports.direct);
}

TEST_CASE("every combination of closed descriptors 0, 1 and 2 is passed on") {
  RedisServer server;
  for (int closed = 0; closed < 8; ++closed) {
    CAPTURE(closed);
    const Reports reports = compare(server, [closed](Launch& launch) {
      for (const int number : {0, 1, 2}) {
        if ((closed & (1 << number)) != 0) launch.closed(number);
      }
    });
    CHECK(reports.locked == reports.direct);
  }
  CHECK(only_fences_left(server));
}

TEST_CASE("with descriptors 0 to 2 closed, talkative or conflicting runs write into no file") {
  RedisServer server;
  const TempDir dir;
  const UniqueFd sink(::open(dir.file("sink").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const auto closed = [&sink](Launch launch) {
    return launch.closed(0).closed(1).closed(2).descriptor(7, sink.get());
  };
  CHECK_ENDING(closed(lock(server, {"-v", "-v", "job", "sh", "-c", "exit 11"})).run(),
               exit_with(11));
  server.set_px(kJobKey, "x", 60'000);
  CHECK_ENDING(closed(lock(server, {"job", "true"})).run(), exit_with(75));
  CHECK(read_file(dir.file("sink")) == "");
  CHECK(server.get(kJobKey) == "x");
}

TEST_CASE("an inherited descriptor reaches COMMAND") {
  RedisServer server;
  const Pipe pipe;
  const Reports reports =
      compare(server, [&pipe](Launch& launch) { launch.descriptor(7, pipe.writer.get()); });
  CHECK(reports.locked == reports.direct);
  CHECK(contains(reports.locked, "fd 7 pipe:"));
}

TEST_CASE("ignored and blocked signals reach COMMAND as they are") {
  RedisServer server;
  const Reports reports = compare(server, [](Launch& launch) {
    launch.ignoring(SIGPIPE).ignoring(SIGHUP).ignoring(SIGRTMIN + 3);
    launch.blocking(SIGUSR1).blocking(SIGTERM).blocking(SIGRTMAX);
  });
  CHECK(reports.locked == reports.direct);
}

TEST_CASE("a caller that blocks every signal is served, and COMMAND has them blocked too") {
  RedisServer server;
  const Reports reports = compare(server, [](Launch& launch) { launch.blocking_all(); });
  CHECK(reports.locked == reports.direct);
}

TEST_CASE("a caller that ignores SIGCHLD still gets COMMAND's status, and COMMAND ignores it too") {
  RedisServer server;
  const Reports reports = compare(server, [](Launch& launch) { launch.ignoring(SIGCHLD); });
  CHECK(reports.locked == reports.direct);
  CHECK_ENDING(lock(server, {"job", "sh", "-c", "exit 11"}).ignoring(SIGCHLD).run(), exit_with(11));
}

TEST_CASE("directory, umask and niceness reach COMMAND") {
  RedisServer server;
  const Reports reports =
      compare(server, [](Launch& launch) { launch.cwd("/usr").umask(0137).nice(7); });
  CHECK(reports.locked == reports.direct);
  CHECK(contains(reports.locked, "cwd /usr\numask 137\nnice 7\n"));
}

TEST_CASE("stdin passes through byte for byte") {
  RedisServer server;
  const TempDir dir;
  std::string bytes;
  for (unsigned i = 0; i < 1'000'000; ++i) bytes.push_back(static_cast<char>(i * 7919U >> 3));
  Pipe pipe;
  Launch feeder({"cat", dir.write("input", bytes)});
  const Run feed = feeder.descriptor(1, pipe.writer.get()).start();
  Run run = probe_job(server, {}, {"copy", "exit", "11"}).descriptor(0, pipe.reader.get()).start();
  pipe.writer.reset();  // the feeder's is the last one
  CHECK_ENDING(run.wait(), exit_with(11));
  CHECK(run.out() == bytes);
}

TEST_CASE("what COMMAND does not read from stdin is left for the caller") {
  RedisServer server;
  const TempDir dir;
  const std::string both = "\"$1\" -r \"$2\" job head -c 4; cat";
  const UniqueFd input(::open(dir.write("input", "abcdefgh").c_str(), O_RDONLY | O_CLOEXEC));
  const Ending ending =
      Launch({"sh", "-c", both, "sh", binary(), server.url()}).descriptor(0, input.get()).run();
  // head may read ahead, but as a seekable file its input is put back to where it stopped.
  CHECK(ending.out == "abcdefgh");
}

/// COMMAND closes descriptor `number`, one end of a pipe; the other end must notice although we
/// run.
void check_not_pinned(int number) {
  CAPTURE(number);
  RedisServer server;
  const TempDir dir;
  Pipe pipe;
  Run run = probe_job(server, {},
                      {"close", std::to_string(number), "touch", dir.file("closed"), "await",
                       dir.file("go")})
                .descriptor(number, number == 0 ? pipe.reader.get() : pipe.writer.get())
                .start();
  if (number == 0) {
    pipe.reader.reset();
    ::fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK);
    CHECK(wait_until([&pipe] { return ::write(pipe.writer.get(), "x", 1) < 0 && errno == EPIPE; }));
  } else {
    pipe.writer.reset();
    ::fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
    char byte = 0;
    CHECK(wait_until([&] { return ::read(pipe.reader.get(), &byte, 1) == 0; }));
  }
  CHECK(!run.ended());
  REQUIRE(wait_until([&dir] { return exists(dir.file("closed")); }));
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("neither of our processes keeps the caller's pipes open") {
  check_not_pinned(0);
  check_not_pinned(1);
  check_not_pinned(7);
}

TEST_CASE("neither of our processes keeps the caller's directory busy") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {}, {"await", dir.file("go")}).cwd(dir.path()).start();
  const pid_t guard = run.guard();
  CHECK(proc_link(run.command(), "cwd") == dir.path());
  for (const pid_t ours : {run.pid(), guard}) {
    CHECK(wait_until([ours] { return proc_link(ours, "cwd") == "/"; }));
  }
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("the guard holds nothing of the caller's and no terminal") {
  RedisServer server;
  const TempDir dir;
  const Pipe pipe;
  Run run =
      probe_job(server, {}, {"await", dir.file("go")}).descriptor(7, pipe.writer.get()).start();
  const pid_t guard = run.guard();
  REQUIRE(run.command() > 0);
  CHECK(wait_until([guard] {
    for (const auto& [number, target] : descriptors(guard)) {
      if (number <= 2 ? target != "/dev/null" : target.rfind("pipe:", 0) == 0) return false;
    }
    return true;
  }));
  CHECK(process_stat(guard)->session == guard);
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("without a terminal COMMAND leads a process group of its own in the caller's session") {
  RedisServer server;
  const TempDir dir;
  Run run = probe_job(server, {}, {"await", dir.file("go")}).start();
  const auto stat = process_stat(run.command());
  REQUIRE(stat);
  CHECK(stat->group == stat->pid);
  CHECK(stat->session == run.pid());
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
