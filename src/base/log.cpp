#include "base/log.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace redlock {
namespace {

// PIPE_BUF: a pipe that is writable takes this much without blocking.
constexpr std::size_t kLineMost = 4096;

constexpr std::string_view kClearLine = "\r\x1b[K";

/// O_NONBLOCK would not do instead: it belongs to the open file, which COMMAND shares.
bool try_write(std::string_view line) {
  pollfd target{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&target, 1, 0) != 1 || (target.revents & POLLOUT) == 0) return false;
  return ::write(STDERR_FILENO, line.data(), line.size()) >= 0;
}

/// One line stays one line, and no name or server's text commands the terminal.
void make_harmless(std::string& line, std::size_t begin) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const auto first = line.begin() + static_cast<std::ptrdiff_t>(begin);
  std::replace_if(first, line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  std::replace_if(first, line.end(), is_control, '?');
}

}  // namespace

void Log::write(LogLevel level, std::string_view text) {
  if (!shows(level)) return;
  const int saved_errno = errno;
  if (dropped_ > 0) {
    const std::string note = prefix_ + ": " + std::to_string(dropped_) +
                             " earlier lines were dropped: stderr was not being read\n";
    if (try_write(note)) dropped_ = 0;
  }
  std::string line;
  if (std::exchange(status_shown_, false)) line = kClearLine;
  const std::size_t begin = line.size();
  line.append(prefix_).append(": ").append(text);
  make_harmless(line, begin);
  if (line.size() >= kLineMost) line.resize(kLineMost - 1);
  line.push_back('\n');
  if (!try_write(line)) ++dropped_;
  errno = saved_errno;
}

void Log::show_status(std::string_view text) {
  if (text.empty() && !status_shown_) return;
  winsize window{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  std::string line(kClearLine);
  if (!text.empty()) {
    std::string shown = prefix_ + ": " + std::string(text);
    make_harmless(shown, 0);
    line += shown.substr(0, known ? window.ws_col - 1U : 79U);
  }
  if (try_write(line)) status_shown_ = !text.empty();
}

}  // namespace redlock
