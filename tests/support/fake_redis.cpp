#include "support/fake_redis.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace redlock::test {
namespace {

/// For what can only fail when the test machine is broken.
void require(bool condition) {
  if (!condition) std::abort();
}

/// Takes "*2" and the like off `input`; nullopt while the line is incomplete.
std::optional<std::size_t> take_count(std::string_view& input, char type) {
  const std::size_t end = input.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  require(input.front() == type);
  const std::string digits(input.substr(1, end - 1));
  input.remove_prefix(end + 2);
  return std::strtoul(digits.c_str(), nullptr, 10);
}

/// Takes one whole command off `buffer`; nullopt while there is none.
std::optional<FakeRedis::Command> take_command(std::string& buffer) {
  std::string_view input = buffer;
  FakeRedis::Command command;
  const auto count = take_count(input, '*');
  if (!count) return std::nullopt;
  while (command.size() < *count) {
    const auto length = take_count(input, '$');
    if (!length || input.size() < *length + 2) return std::nullopt;
    command.emplace_back(input.substr(0, *length));
    input.remove_prefix(*length + 2);
  }
  buffer.erase(0, buffer.size() - input.size());
  return command;
}

}  // namespace

struct FakeRedis::Client {
  int fd = -1;
  std::string buffer;
};

FakeRedis::FakeRedis(Script script)
    : script_(std::move(script)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listener_, generic, length) == 0 && ::listen(listener_, 16) == 0);
  require(::getsockname(listener_, generic, &length) == 0);
  port_ = ::ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakeRedis::~FakeRedis() {
  const std::uint64_t one = 1;
  require(::write(stop_, &one, sizeof one) == sizeof one);
  thread_.join();
  ::close(listener_);
  ::close(stop_);
}

std::string FakeRedis::url(const std::string& userinfo, const std::string& path) const {
  return "redis://" + (userinfo.empty() ? "" : userinfo + "@") +
         "127.0.0.1:" + std::to_string(port_) + path;
}

std::vector<FakeRedis::Command> FakeRedis::commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

std::size_t FakeRedis::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void FakeRedis::serve() {
  std::vector<Client> clients;
  while (true) {
    std::vector<pollfd> polled = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Client& client : clients) polled.push_back({client.fd, POLLIN, 0});
    require(::poll(polled.data(), polled.size(), -1) > 0);
    if (polled[0].revents != 0) break;
    for (std::size_t i = 2; i < polled.size(); ++i) {
      Client& client = clients[i - 2];
      if (polled[i].revents == 0 || serve_client(client)) continue;
      ::close(client.fd);
      client.fd = -1;
    }
    std::erase_if(clients, [](const Client& client) { return client.fd < 0; });
    if (polled[1].revents != 0) accept_client(clients);
  }
  for (const Client& client : clients) ::close(client.fd);
}

void FakeRedis::accept_client(std::vector<Client>& clients) {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int on = 1;  // else a second small reply waits for the acknowledgement of the first
  require(fd >= 0 && ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
  clients.push_back({fd, ""});
  const std::lock_guard lock(mutex_);
  ++connections_;
}

/// False when the connection is to be closed.
bool FakeRedis::serve_client(Client& client) {
  char bytes[4096];
  const ssize_t got = ::recv(client.fd, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  client.buffer.append(bytes, static_cast<std::size_t>(got));
  while (const auto command = take_command(client.buffer)) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(*command);
    }
    const Reaction reaction = script_(*command);
    ::send(client.fd, reaction.bytes.data(), reaction.bytes.size(), MSG_NOSIGNAL);
    if (reaction.close) return false;
  }
  return true;
}

namespace resp {

std::string ok() {
  return "+OK\r\n";
}
std::string error(const std::string& text) {
  return "-" + text + "\r\n";
}
std::string integer(std::int64_t value) {
  return ":" + std::to_string(value) + "\r\n";
}
std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
std::string nil() {
  return "$-1\r\n";
}
std::string array(const std::vector<std::string>& elements) {
  std::string result = "*" + std::to_string(elements.size()) + "\r\n";
  for (const std::string& element : elements) result += element;
  return result;
}

}  // namespace resp

}  // namespace redlock::test
