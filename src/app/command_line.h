// Splits the command line at NAME, so that the option parser never sees COMMAND nor any value:
// CLI11 rewrites arguments such as `[0-9]` and `[::1]`.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace redlock::app {

struct CommandLine {
  /// The options alone; each value is replaced by its index in `values`.
  std::vector<std::string> options;
  std::vector<std::string> values;
  std::optional<std::string> name;
  /// What follows NAME.
  std::vector<std::string> rest;
};

/// What an option, written as `-x` or `--long`, is.
enum class OptionKind { unknown, flag, takes_value };

/// Never fails: what it does not know it leaves to the option parser. An option whose value is
/// missing is left without one.
CommandLine split_command_line(const std::vector<std::string>& args,
                               const std::function<OptionKind(const std::string&)>& kind_of);

}  // namespace redlock::app
