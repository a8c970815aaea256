#include "monitor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "execution.h"

namespace redlock::bench {
namespace {

UniqueFd connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up("no Redis server on port " + std::to_string(port));
  }
  return fd;
}

void send_line(int fd, const std::string& line) {
  const std::string bytes = line + "\r\n";
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    give_up("the Redis server closed the connection");
  }
}

// A line is: +SECONDS.MICROSECONDS [DB ADDRESS] "COMMAND" "ARGUMENT"...; ADDRESS is "lua" for what
// a script called.
std::optional<Seen> parse(const std::string& line) {
  const std::size_t origin = line.find(" [");
  const std::size_t command = line.find("] \"");
  if (origin == std::string::npos || command == std::string::npos) return std::nullopt;
  const std::size_t end = line.find('"', command + 3);
  Seen seen;
  seen.at_ms = std::strtod(line.c_str() + 1, nullptr) * 1e3;
  seen.by_script = line.compare(command - 4, 4, " lua") == 0;
  seen.command = line.substr(command + 3, end - command - 3);
  for (char& letter : seen.command) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return seen;
}

}  // namespace

bool is_lock_request(const Seen& seen) {
  return !seen.by_script &&
         (seen.command == "SET" || seen.command == "EVAL" || seen.command == "EVALSHA");
}

Monitor::Monitor(std::uint16_t port) : watching_(connect_to(port)), asking_(connect_to(port)) {
  send_line(watching_.get(), "MONITOR");
  if (read_line() != "+OK") give_up("the Redis server refuses MONITOR");
}

std::vector<Seen> Monitor::take() {
  const std::string mark = "mark-" + std::to_string(++marks_);
  send_line(asking_.get(), "ECHO " + mark);
  std::vector<Seen> all;
  for (;;) {
    const std::string line = read_line();
    if (line.find(mark) != std::string::npos) break;
    if (const std::optional<Seen> seen = parse(line)) all.push_back(*seen);
  }
  std::array<char, 256> echo{};
  if (::recv(asking_.get(), echo.data(), echo.size(), 0) <= 0) give_up("no answer to ECHO");
  return all;
}

std::string Monitor::read_line() {
  for (;;) {
    const std::size_t end = unread_.find("\r\n");
    if (end != std::string::npos) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 2);
      return line;
    }
    std::array<char, 4096> buffer{};
    const ssize_t length = ::recv(watching_.get(), buffer.data(), buffer.size(), 0);
    if (length <= 0) give_up("the Redis server closed the connection");
    unread_.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace redlock::bench
