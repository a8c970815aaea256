// The exit status says what became of COMMAND, exactly.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>

#include "support/lock_run.h"

TEST_SUITE_BEGIN("exit");

namespace redlock::test {
namespace {

/// Runs `sh -c SCRIPT` under a lock of its own, several at a time, for every script.
void check_scripts(const std::vector<std::pair<std::string, std::string>>& expectations) {
  constexpr std::size_t kAtOnce = 4;
  RedisServer server;
  for (std::size_t first = 0; first < expectations.size(); first += kAtOnce) {
    std::vector<Run> runs;
    const std::size_t end = std::min(first + kAtOnce, expectations.size());
    for (std::size_t i = first; i < end; ++i) {
      runs.push_back(
          lock(server, {"job-" + std::to_string(i), "sh", "-c", expectations[i].first}).start());
    }
    for (std::size_t i = first; i < end; ++i) {
      CAPTURE(expectations[i].first);
      const Ending& ending = runs[i - first].wait();
      CHECK_ENDING(ending, expectations[i].second);
      CHECK(ending.err == "");
      CHECK(!ending.dumped_core);
    }
  }
  CHECK(only_fences_left(server));
}

TEST_CASE("every exit status from 0 to 255 is passed on") {
  std::vector<std::pair<std::string, std::string>> expectations;
  for (int code = 0; code <= 255; ++code) {
    expectations.emplace_back("exit " + std::to_string(code), exit_with(code));
  }
  check_scripts(expectations);
}

TEST_CASE("every deadly signal of COMMAND is the one we die of, without a core file of ours") {
  std::vector<std::pair<std::string, std::string>> expectations;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    switch (number) {
      case SIGCHLD:
      case SIGCONT:
      case SIGURG:
      case SIGWINCH:
      case SIGSTOP:
      case SIGTSTP:
      case SIGTTIN:
      case SIGTTOU:
      case 32:  // the C library keeps these two for itself
      case 33:
        continue;
      default:
        expectations.emplace_back("kill -" + std::to_string(number) + " $$", killed_by(number));
    }
  }
  check_scripts(expectations);
}

TEST_CASE("re-raising a signal that dumps core leaves no core file") {
  RedisServer server;
  const TempDir dir;
  for (const std::string name : {"SEGV", "ABRT", "QUIT"}) {
    const std::string script = "ulimit -c 0; kill -" + name + " $$";
    const Ending ending =
        lock(server, {"job", "sh", "-c", script}).cwd(dir.path()).core_files_allowed().run();
    CHECK(ending.how.find("signal ") == 0);
    CHECK(!ending.dumped_core);
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a shell sees 128 + N when COMMAND died of signal N") {
  RedisServer server;
  const Ending ending = Launch({"sh", "-c", "\"$@\"; echo $?", "sh", binary(), "-r", server.url(),
                                "job", "sh", "-c", "kill -TERM $$"})
                            .run();
  CHECK(ending.out == "143\n");
}

/// COMMAND cannot be started: the status, a line that names it, and the lock free at once.
void check_not_started(const std::string& command, int code) {
  CAPTURE(command);
  RedisServer server;
  const Ending ending = lock(server, {"--ttl", "60s", "job", command}).run();
  CHECK_ENDING(ending, exit_with(code));
  CHECK(ending.err.find("redlock-run: ") == 0);
  CHECK(contains(ending.err, command));
  CHECK(ending.out == "");
  CHECK(only_fences_left(server));
}

TEST_CASE("a missing command is 127 and frees the lock at once") {
  check_not_started("no-such-command-anywhere", 127);
  check_not_started("/no/such/path", 127);
}

TEST_CASE("a command that may not be executed is 126 and frees the lock at once") {
  const TempDir dir;
  check_not_started(dir.write("script", "#!/bin/sh\n", 0644), 126);
  check_not_started(dir.path(), 126);
  check_not_started(dir.write("file", "", 0644) + "/below", 126);
}

TEST_CASE("a script whose interpreter is missing is 127 and says that it is the interpreter") {
  const TempDir dir;
  const std::string script = dir.write("script", "#!/no/such/interpreter\n", 0755);
  check_not_started(script, 127);
  RedisServer server;
  CHECK(contains(lock(server, {"job", script}).run().err, "interpreter"));
}

TEST_CASE("a symbolic link that leads to itself is 126") {
  const TempDir dir;
  std::filesystem::create_symlink(dir.file("loop"), dir.file("loop"));
  check_not_started(dir.file("loop"), 126);
}

TEST_CASE("a script without an interpreter line runs in the shell, as execvp has it") {
  const TempDir dir;
  RedisServer server;
  CHECK_ENDING(lock(server, {"job", dir.write("script", "exit 11\n", 0755)}).run(), exit_with(11));
}

TEST_CASE("a relative path is resolved from the caller's directory") {
  const TempDir dir;
  dir.write("script", "#!/bin/sh\nexit 11\n", 0755);
  RedisServer server;
  CHECK_ENDING(lock(server, {"job", "./script"}).cwd(dir.path()).run(), exit_with(11));
}

TEST_CASE("orphans that end around COMMAND's end never take its status") {
  RedisServer server;
  for (int round = 0; round < 20; ++round) {
    const std::string code = std::to_string(round + 10);
    CHECK_ENDING(probe_job(server, {}, {"orphans", "10", "exit", code}).run(),
                 exit_with(round + 10));
  }
  CHECK(only_fences_left(server));
}

TEST_CASE("the lock is kept while processes of the job's session still run") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  Run run = probe_job(server, {"--ttl", "1s"}, {"spawn", "orphan", log, "a", "exit", "11"}).start();
  REQUIRE(wait_until([&log] { return !read_file(log).empty(); }));
  CHECK(holds_for(milliseconds(2'500), [&] { return server.exists(kJobKey) && !run.ended(); }));
  const std::string line = read_file(log);
  const pid_t orphan = std::stoi(line.substr(line.find(" a ") + 3));
  ::kill(orphan, SIGKILL);
  CHECK_ENDING(run.wait(), exit_with(11));
  CHECK(only_fences_left(server));
}

TEST_CASE("a daemon that left the job's session does not keep the lock") {
  RedisServer server;
  const TempDir dir;
  const std::string log = dir.file("log");
  Run run =
      probe_job(server, {}, {"spawn", "daemon", log, "a", "await", log, "exit", "11"}).start();
  CHECK_ENDING(run.wait(), exit_with(11));
  CHECK(only_fences_left(server));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
