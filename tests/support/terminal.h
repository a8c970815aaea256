// A pseudo-terminal, with the test at the keyboard.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace redlock::test {

class Terminal {
 public:
  Terminal();

  /// The device, for Launch::on_terminal().
  const std::string& path() const { return path_; }
  /// Presses keys; "\x03" is Ctrl-C.
  void type(const std::string& keys) const;
  /// What the programs on it have written since the last call; never blocks.
  std::string shown() const;
  /// True when typed characters are shown and lines can be edited, as a shell wants it.
  bool is_sane() const;

 private:
  UniqueFd keyboard_;
  std::string path_;
};

}  // namespace redlock::test
