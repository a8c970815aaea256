// One line at a time to stderr, without ever waiting for its reader: a line that does not fit now
// is dropped and counted. A log that blocks would hold up the lease it reports on.
#pragma once

#include <string>
#include <string_view>

namespace redlock {

enum class LogLevel {
  error,    ///< a loss or a failure; always shown
  warning,  ///< not with -q
  info,     ///< -v: state changes
  debug,    ///< -vv: every request
};

class Log {
 public:
  /// Lines begin with `prefix` (the program's name, then the lock's) and a colon.
  Log(std::string prefix, LogLevel most) : prefix_(std::move(prefix)), most_(most) {}

  bool shows(LogLevel level) const { return level <= most_; }
  /// Writes one line of at most 4096 bytes (so that the kernel keeps it in one piece, even in a
  /// pipe that COMMAND writes to as well); a longer text is cut. errno is kept.
  void write(LogLevel level, std::string_view text);

  /// Shows `text` as the one updating line at the bottom of a terminal; the next line that is
  /// written takes its place, and so does an empty text.
  void show_status(std::string_view text);

  void error(std::string_view text) { write(LogLevel::error, text); }
  void warning(std::string_view text) { write(LogLevel::warning, text); }
  void info(std::string_view text) { write(LogLevel::info, text); }
  void debug(std::string_view text) { write(LogLevel::debug, text); }

 private:
  std::string prefix_;
  LogLevel most_;
  int dropped_ = 0;
  bool status_shown_ = false;
};

}  // namespace redlock
