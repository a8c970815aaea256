#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.h"
#include "os/signals.h"
#include "os/spawn.h"
#include "support/forked.h"
#include "support/process.h"
#include "support/temp_dir.h"

TEST_SUITE_BEGIN("os.spawn");

namespace redlock::os {
namespace {

using Words = std::vector<std::string>;

const std::atomic<std::int64_t> kAnyTime{std::numeric_limits<std::int64_t>::max()};

class Pointers {
 public:
  explicit Pointers(Words words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() const { return pointers_.data(); }
  char* word(std::size_t i) { return words_[i].data(); }

 private:
  Words words_;
  std::vector<char*> pointers_;
};

/// Signals as this process has them now.
InheritedSignals current_signals() {
  InheritedSignals signals;
  ::sigemptyset(&signals.ignored);
  ::sigprocmask(SIG_SETMASK, nullptr, &signals.mask);
  return signals;
}

struct Conditions {
  Words environment = {"PATH=/usr/bin:/bin"};
  bool own_group = false;
  const std::atomic<std::int64_t>* latest_start = &kAnyTime;
};

SpawnResult start(const Words& command, const Conditions& conditions = {}) {
  const Pointers argv(command);
  const Pointers envp(conditions.environment);
  return spawn({.argv = argv.get(),
                .envp = envp.get(),
                .signals = current_signals(),
                .own_group = conditions.own_group,
                .latest_start = conditions.latest_start});
}

/// Exit status, or 1000 + the signal.
int end_of(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// How a command that is to start ends.
int end_of(const Words& command, const Conditions& conditions = {}) {
  const SpawnResult result = start(command, conditions);
  REQUIRE(result.outcome == SpawnOutcome::started);
  REQUIRE(result.pid > 1);
  return end_of(result.pid);
}

Words shell(const std::string& script) {
  return {"sh", "-c", script};
}

/// The word that stands after `key` in the text of a /proc/PID/status.
std::string status_line(const std::string& status, const std::string& key) {
  const std::size_t at = status.find("\n" + key + ":");
  if (at == std::string::npos) return "missing";
  const std::size_t begin = at + key.size() + 3;
  return status.substr(begin, status.find('\n', begin) - begin);
}

TEST_CASE("a command starts, is our child and ends as it likes") {
  for (const int code : {0, 1, 71, 126, 127, 255}) {
    CAPTURE(code);
    CHECK(end_of(shell("exit " + std::to_string(code))) == code);
  }
  CHECK(end_of(shell("kill -KILL $$")) == 1000 + SIGKILL);
  CHECK(end_of(shell("test $PPID = " + std::to_string(::getpid()))) == 0);
}

TEST_CASE("argv and environment arrive byte for byte") {
  const test::TempDir directory;
  const std::string out = directory.file("out");
  const Words odd = {"", "[0-9]", "--", "-c", "a b", "\xff\n", "$X"};
  Words command = {"sh", "-c", "printf '%s|' \"$@\" \"$ODD\" > " + out, "sh"};
  command.insert(command.end(), odd.begin(), odd.end());
  CHECK(end_of(command, {.environment = {"PATH=/usr/bin:/bin", "ODD=x=\n\xfe"}}) == 0);
  std::string expected;
  for (const std::string& word : odd) expected += word + "|";
  CHECK(test::read_file(out) == expected + "x=\n\xfe|");
}

TEST_CASE("what cannot be executed gives its errno, and leaves no child behind") {
  const test::TempDir directory;
  const std::string text = directory.write("text", "not a program", 0644);
  const std::string no_interpreter = directory.write("script", "#!/no/such/interpreter\n", 0755);
  const std::pair<std::string, int> rows[] = {
      {"no-such-command-anywhere", ENOENT},
      {directory.file("missing"), ENOENT},
      {no_interpreter, ENOENT},
      {text, EACCES},
      {directory.path(), EACCES},
      {text + "/below", ENOTDIR},
      {"", ENOENT},
  };
  for (const auto& [path, error] : rows) {
    const std::string command = path;
    CAPTURE(command);
    const SpawnResult result = start({command});
    CHECK(result.outcome == SpawnOutcome::exec_failed);
    CHECK(result.error == error);
    errno = 0;
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
  }
}

TEST_CASE("a script without an interpreter line is run by the shell") {
  const test::TempDir directory;
  CHECK(end_of({directory.write("script", "exit 9\n", 0755)}) == 9);
}

TEST_CASE("after the latest start nothing is run") {
  const test::TempDir directory;
  const std::string sign = directory.file("ran");
  const Words command = shell("touch " + sign);
  for (const TimePoint latest : {boot_now() - Duration::nanoseconds(1), TimePoint::past()}) {
    const std::atomic<std::int64_t> over{latest.ns()};
    const SpawnResult result = start(command, {.latest_start = &over});
    CHECK(result.outcome == SpawnOutcome::too_late);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(!test::exists(sign));
  }
  const std::atomic<std::int64_t> ahead{(boot_now() + Duration::seconds(60)).ns()};
  CHECK(end_of(command, {.latest_start = &ahead}) == 0);
  CHECK(test::exists(sign));
}

TEST_CASE("the child has the signals that we inherited, while ours stay blocked") {
  const test::TempDir directory;
  const std::string plain = directory.file("plain");
  const std::string spawned = directory.file("spawned");
  for (const bool ignore_chld : {false, true}) {
    CAPTURE(ignore_chld);
    test::in_child([&] {
      for (int signal = 1; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_DFL);
      for (const int signal : {SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
      if (ignore_chld) ::signal(SIGCHLD, SIG_IGN);
      sigset_t mask;
      ::sigemptyset(&mask);
      for (const int signal : {SIGUSR1, SIGSEGV, SIGRTMAX}) ::sigaddset(&mask, signal);
      ::sigprocmask(SIG_SETMASK, &mask, nullptr);
      const auto cat_to = [](const std::string& path) {
        return Words{"sh", "-c", "exec cat /proc/self/status > " + path};
      };
      if (ignore_chld) {
        // A shell changes an ignored SIGCHLD, so cat itself is started.
        ::dup2(::open(plain.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      }
      const Pointers command(ignore_chld ? Words{"cat", "/proc/self/status"} : cat_to(plain));
      const pid_t direct = ::fork();
      if (direct == 0) {
        ::execvp(command.get()[0], command.get());
        ::_exit(99);
      }
      // Waits for the end even where the status is lost.
      ::waitpid(direct, nullptr, 0);

      const InheritedSignals inherited = block_signals();
      if (ignore_chld) {
        ::dup2(::open(spawned.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      }
      const Pointers again(ignore_chld ? Words{"cat", "/proc/self/status"} : cat_to(spawned));
      const Pointers envp({"PATH=/usr/bin:/bin"});
      const SpawnResult result = spawn({.argv = again.get(),
                                        .envp = envp.get(),
                                        .signals = inherited,
                                        .latest_start = &kAnyTime});
      EXPECT_IN_CHILD(result.outcome == SpawnOutcome::started);
      EXPECT_IN_CHILD(end_of(result.pid) == 0);

      sigset_t ours;
      ::sigprocmask(SIG_SETMASK, nullptr, &ours);
      EXPECT_IN_CHILD(::sigismember(&ours, SIGTERM) == 1);
      EXPECT_IN_CHILD(::sigismember(&ours, SIGSEGV) == 0);
      struct sigaction action{};
      ::sigaction(SIGCHLD, nullptr, &action);
      EXPECT_IN_CHILD(action.sa_handler == SIG_DFL);
    });
    const std::string expected = test::read_file(plain);
    const std::string got = test::read_file(spawned);
    for (const std::string key : {"SigBlk", "SigIgn", "SigCgt"}) {
      CAPTURE(key);
      CHECK(status_line(got, key) == status_line(expected, key));
    }
    CHECK(status_line(got, "SigBlk") == "8000000000000600");
  }
}

TEST_CASE("with a group of its own the child leads it, without it is in ours; never a session") {
  for (const bool own_group : {false, true}) {
    CAPTURE(own_group);
    const SpawnResult result = start({"sleep", "60"}, {.own_group = own_group});
    REQUIRE(result.outcome == SpawnOutcome::started);
    const auto stat = test::process_stat(result.pid);
    REQUIRE(stat);
    CHECK(stat->name == "sleep");  // exec is over when spawn() returns
    CHECK(stat->group == (own_group ? result.pid : ::getpgrp()));
    CHECK(stat->session == ::getsid(0));
    ::kill(result.pid, SIGKILL);
    CHECK(end_of(result.pid) == 1000 + SIGKILL);
  }
}

TEST_CASE("the child dies with the process that started it") {
  test::in_child([] {
    const test::Shared<std::atomic<pid_t>> command;
    const pid_t starter = test::fork_off([&command] {
      *command = start({"sleep", "60"}).pid;
      for (;;) ::pause();
    });
    EXPECT_IN_CHILD(test::wait_until([&] { return command->load() > 0; }));
    EXPECT_IN_CHILD(test::is_running(*command));
    ::kill(starter, SIGKILL);
    EXPECT_IN_CHILD(end_of(starter) == 1000 + SIGKILL);
    // Adopted by this process, which is a subreaper.
    EXPECT_IN_CHILD(end_of(*command) == 1000 + SIGKILL);
  });
}

TEST_CASE("the child's pid stands where room for it was given") {
  for (const bool wanted : {true, false}) {
    CAPTURE(wanted);
    Pointers envp({"PATH=/usr/bin:/bin", "LISTEN_PID=" + std::string(12, '#'), "AFTER=kept"});
    const Pointers argv(shell("test \"$LISTEN_PID\" = $$ && test \"$AFTER\" = kept"));
    const SpawnResult result = spawn({.argv = argv.get(),
                                      .envp = envp.get(),
                                      .listen_pid = wanted ? envp.word(1) + 11 : nullptr,
                                      .signals = current_signals(),
                                      .latest_start = &kAnyTime});
    REQUIRE(result.outcome == SpawnOutcome::started);
    CHECK((end_of(result.pid) == 0) == wanted);
    CHECK((std::string(envp.word(1)) == "LISTEN_PID=" + std::to_string(result.pid)) == wanted);
  }
}

TEST_CASE("directory, umask and standard descriptors are those of the caller") {
  const test::TempDir directory;
  test::in_child([&directory] {
    EXPECT_IN_CHILD(::chdir(directory.path().c_str()) == 0);
    ::umask(0137);
    ::close(STDIN_FILENO);
    ::dup2(::open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDOUT_FILENO);
    EXPECT_IN_CHILD(
        end_of(start(shell("pwd; umask; test ! -e /proc/$$/fd/0 && echo closed")).pid) == 0);
  });
  CHECK(test::read_file(directory.file("out")) == directory.path() + "\n0137\nclosed\n");
}

TEST_CASE("fork that fails is told with its errno") {
  if (::getuid() != 0) {
    MESSAGE("not root: nobody to become");
    return;
  }
  test::in_child([] {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    EXPECT_IN_CHILD(::setresuid(65534, 65534, 65534) == 0);  // root has no such limit
    const SpawnResult result = start({"true"});
    EXPECT_IN_CHILD(result.outcome == SpawnOutcome::fork_failed);
    EXPECT_IN_CHILD(result.error == EAGAIN);
  });
}

}  // namespace
}  // namespace redlock::os
