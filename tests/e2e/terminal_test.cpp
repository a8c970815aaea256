// On a terminal COMMAND is where its user expects it: in the foreground, with the keyboard.
#include <doctest/doctest.h>
#include <signal.h>

#include <utility>

#include "support/lock_run.h"
#include "support/process.h"
#include "support/terminal.h"

TEST_SUITE_BEGIN("terminal");

namespace redlock::test {
namespace {

TEST_CASE("on a terminal COMMAND shares our process group, and the guard is out of reach") {
  RedisServer server;
  const TempDir dir;
  const Terminal terminal;
  Run run = probe_job(server, {}, {"touch", dir.file("in"), "await", dir.file("go")})
                .on_terminal(terminal.path())
                .start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  const auto command = process_stat(run.command());
  const auto guard = process_stat(run.guard());
  REQUIRE((command && guard));
  CHECK(command->group == run.pid());
  CHECK(command->session == run.pid());
  CHECK(guard->session != run.pid());
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
}

TEST_CASE("Ctrl-C and Ctrl-\\ reach COMMAND exactly once, and its status is ours") {
  const std::pair<std::string, int> keys[] = {{"\x03", SIGINT}, {"\x1c", SIGQUIT}};
  for (const auto& key : keys) {
    CAPTURE(key.second);
    RedisServer server;
    const TempDir dir;
    const Terminal terminal;
    const std::string signals = dir.file("signals");
    Run run = probe_job(server, {},
                        {"count", signals, "2,3", "touch", dir.file("in"), "await", dir.file("go"),
                         "exit", "7"})
                  .on_terminal(terminal.path())
                  .start();
    REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
    terminal.type(key.first);
    const std::string once = std::to_string(key.second) + "\n";
    CHECK(wait_until([&] { return !read_file(signals).empty(); }));
    CHECK(holds_for(milliseconds(100), [&] { return read_file(signals) == once; }));
    touch(dir.file("go"));
    CHECK_ENDING(run.wait(), exit_with(7));
    CHECK(only_fences_left(server));
  }
}

TEST_CASE("Ctrl-C on a COMMAND without a handler ends us by INT, with the lock free") {
  RedisServer server;
  const TempDir dir;
  const Terminal terminal;
  Run run = probe_job(server, {}, {"touch", dir.file("in"), "await", dir.file("never")})
                .on_terminal(terminal.path())
                .start();
  REQUIRE(wait_until([&dir] { return exists(dir.file("in")); }));
  terminal.type("\x03");
  CHECK_ENDING(run.wait(), killed_by(SIGINT));
  CHECK(only_fences_left(server));
}

TEST_CASE("COMMAND reads what is typed, and the terminal is left as it was") {
  RedisServer server;
  const TempDir dir;
  const Terminal terminal;
  Run run = lock(server, {"job", "sh", "-c", "read line; echo \"$line\" > " + dir.file("line")})
                .on_terminal(terminal.path())
                .start();
  REQUIRE(run.command() > 0);
  terminal.type("hello there\n");
  CHECK_ENDING(run.wait(), exit_with(0));
  CHECK(read_file(dir.file("line")) == "hello there\n");
  CHECK(terminal.is_sane());
}

TEST_CASE("Ctrl-C while waiting ends us by INT, and COMMAND never starts") {
  RedisServer server;
  const TempDir dir;
  const Terminal terminal;
  server.set_px(kJobKey, "holder", 60'000);
  server.reset_counters();
  Run run = lock(server, {"-w", "60s", "job", "touch", dir.file("ran")})
                .on_terminal(terminal.path())
                .start();
  REQUIRE(wait_until([&server] { return server.script_calls() > 0; }));
  terminal.type("\x03");
  CHECK_ENDING(run.wait(), killed_by(SIGINT));
  CHECK(!exists(dir.file("ran")));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
