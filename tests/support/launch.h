// One execution of a program under exact starting conditions, and what became of it. Never leaves
// a process behind: whatever still runs when a Run goes out of scope is killed with its whole tree.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "support/wait.h"

namespace redlock::test {

/// How a process ended, in the words that exit_with() and killed_by() give.
struct Ending {
  std::string how;
  bool dumped_core = false;
  milliseconds elapsed{0};
  milliseconds cpu{0};
  std::string out;
  std::string err;
};

std::string exit_with(int code);
std::string killed_by(int signal);

/// A started program. The caller of Launch::start() owns it.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) = delete;
  ~Run();

  pid_t pid() const;
  /// Waits for the end and fails the test when it does not come within `limit`.
  const Ending& wait(milliseconds limit = kPatience);
  /// True once the process has ended; never blocks.
  bool ended();
  void signal(int number) const;
  /// What it has written so far, as far as Launch did not send it elsewhere.
  std::string out() const;
  std::string err() const;
  /// The guard process of a redlock-run, and COMMAND under it; fails the test if there is none.
  pid_t guard() const;
  pid_t command() const;

 private:
  friend class Launch;
  struct State;
  explicit Run(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Collects the starting conditions. By default: own session without a terminal, nearly empty
/// environment, stdin from /dev/null, stdout and stderr captured, no other descriptor, all signals
/// default and unblocked, no core files, umask 022, the runner's directory.
class Launch {
 public:
  explicit Launch(std::vector<std::string> argv) : argv_(std::move(argv)) {}

  Launch& env(const std::string& name, const std::string& value);
  Launch& without_env(const std::string& name);
  Launch& stdin_text(const std::string& text);
  /// Gives the program a copy of `fd` under `number`; the caller keeps its own.
  Launch& descriptor(int number, int fd);
  Launch& closed(int number);
  Launch& cwd(const std::string& path);
  Launch& umask(mode_t mask);
  Launch& nice(int increment);
  Launch& core_files_allowed();
  Launch& ignoring(int signal);
  Launch& blocking(int signal);
  Launch& blocking_all();
  /// Runs in a session of its own on this terminal, in the foreground.
  Launch& on_terminal(const std::string& path);
  /// Puts words before the command line, such as nsenter's.
  Launch& under(const std::vector<std::string>& words);
  /// Adds arguments at the end.
  Launch& args(const std::vector<std::string>& more);

  Run start() const;
  Ending run(milliseconds limit = kPatience) const { return start().wait(limit); }

 private:
  [[noreturn]] void become(int out, int err, pid_t parent) const;
  void set_up_descriptors(int out, int err) const;
  void set_up_signals() const;

  std::vector<std::string> argv_;
  std::map<std::string, std::string> changed_env_;
  std::vector<std::string> removed_env_;
  std::optional<std::string> stdin_text_;
  std::map<int, int> descriptors_;
  std::vector<int> closed_;
  std::string cwd_;
  std::string terminal_;
  mode_t umask_ = 022;
  int nice_ = 0;
  bool core_files_ = false;
  std::vector<int> ignored_;
  std::vector<int> blocked_;
};

/// A pipe whose ends no started program inherits by accident.
struct Pipe {
  Pipe();
  UniqueFd reader;
  UniqueFd writer;
};

/// Everything that can be read from `fd` until the end of file.
std::string drain(int fd);

}  // namespace redlock::test

/// Checks how a process ended and shows its stderr when that was not it.
#define CHECK_ENDING(ending, expected)               \
  do {                                               \
    const ::redlock::test::Ending rr_got = (ending); \
    INFO("stderr: ", rr_got.err);                    \
    CHECK(rr_got.how == (expected));                 \
  } while (false)
