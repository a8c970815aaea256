#include "support/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <array>

namespace redlock::test {

Terminal::Terminal() {
  const UniqueFd low(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  keyboard_ = UniqueFd(::fcntl(low.get(), F_DUPFD_CLOEXEC, 200));  // see launch.cpp
  REQUIRE(keyboard_);
  REQUIRE(::grantpt(keyboard_.get()) == 0);
  REQUIRE(::unlockpt(keyboard_.get()) == 0);
  std::array<char, 128> name{};
  REQUIRE(::ptsname_r(keyboard_.get(), name.data(), name.size()) == 0);
  path_ = name.data();
  ::fcntl(keyboard_.get(), F_SETFL, O_NONBLOCK);
}

void Terminal::type(const std::string& keys) const {
  REQUIRE(::write(keyboard_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

std::string Terminal::shown() const {
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t got = 0; (got = ::read(keyboard_.get(), block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool Terminal::is_sane() const {
  termios modes{};
  REQUIRE(::tcgetattr(keyboard_.get(), &modes) == 0);
  return (modes.c_lflag & ICANON) != 0 && (modes.c_lflag & ECHO) != 0;
}

}  // namespace redlock::test
