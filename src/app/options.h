// The command line and the environment, read into what the program needs. The only place that knows
// CLI11. Touches nothing: every mistake is found before a server is asked.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/timing.h"
#include "redis/url.h"

namespace redlock::app {

/// One run, as asked for.
struct Options {
  LockName name;
  LockKey key;
  std::vector<redis::Url> servers;
  core::Timing timing;
  /// A server that started less than this ago does not vote for a new lock. Zero: all do.
  Duration min_uptime;
  /// Zero: -n.
  Duration wait;
  int held_code = 75;
  /// -k was given: KILL also follows signals that are passed on.
  bool kill_after_given = false;
  int stop_signal = 0;
  /// Infinite: no limit.
  Duration max_run = Duration::infinite();
  LogLevel log_level = LogLevel::warning;
  /// At least one; bytes as given.
  std::vector<std::string> command;
};

/// -h or -V: to be printed on stdout.
struct Information {
  std::string text;
};

/// What is wrong and how to mend it. `code`: the exit status, 64 or 78.
struct UsageError {
  int code = 64;
  std::string message;
};

/// Looks a variable of the environment up; nullptr when it is not set.
using GetEnv = const char* (*)(const char* name);

/// Options end at NAME; what follows it is COMMAND, byte for byte, after one optional `--`. An
/// option that is not given is looked for in the environment as REDLOCK_RUN_ and its long name.
std::variant<Options, Information, UsageError> parse_options(const std::vector<std::string>& args,
                                                             GetEnv get_env);

}  // namespace redlock::app
