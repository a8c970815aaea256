#include "support/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <utility>

namespace redlock::test {
namespace {

/// For what can only fail when the test machine is broken.
void require(bool condition) {
  if (!condition) std::abort();
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(port);
  return address;
}

void send_at_once(int fd) {
  const int on = 1;  // else a second small message waits for the acknowledgement of the first
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Closes with a reset instead of a farewell.
void cut(UniqueFd& fd) {
  if (!fd) return;
  const linger now{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd.reset();
}

std::int64_t now_ms() {
  return boottime_ns() / 1'000'000;
}

}  // namespace

/// One direction of one connection.
struct Proxy::Flow {
  struct Chunk {
    std::int64_t due = 0;
    std::string bytes;
  };

  UniqueFd* from = nullptr;
  UniqueFd* to = nullptr;
  std::deque<Chunk> queue;
  bool source_ended = false;
  bool ended = false;     ///< and so was the other side told, behind all that had come before
  bool has_hole = false;  ///< bytes of it were thrown away
};

struct Proxy::Link {
  UniqueFd client;
  UniqueFd server;
  Flow requests{.from = &client, .to = &server, .queue = {}};
  Flow replies{.from = &server, .to = &client, .queue = {}};

  bool is_over() const { return !client || !server || (requests.ended && replies.ended); }
  void reset() {
    cut(client);
    cut(server);
  }
};

Proxy::Proxy(std::uint16_t target)
    : target_(target),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listener_.get(), generic, length) == 0 && ::listen(listener_.get(), 128) == 0);
  require(::getsockname(listener_.get(), generic, &length) == 0);
  port_ = ::ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  const std::uint64_t one = 1;
  require(::write(wake_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
}

std::string Proxy::name() const {
  return "127.0.0.1:" + std::to_string(port_);
}
std::string Proxy::url() const {
  return "redis://" + name();
}

void Proxy::pass() {
  order(Mode::pass);
}
void Proxy::delay(milliseconds span) {
  order(Mode::delay, span);
}
void Proxy::freeze() {
  order(Mode::freeze);
}
void Proxy::swallow() {
  order(Mode::swallow);
}
void Proxy::drop_replies() {
  order(Mode::drop_replies);
}
void Proxy::refuse() {
  order(Mode::refuse);
}

void Proxy::order(Mode mode, milliseconds delay) {
  std::uint64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    serial = wanted_.serial + 1;
    wanted_ = {mode, delay, serial};
  }
  const std::uint64_t one = 1;
  require(::write(wake_.get(), &one, sizeof one) == sizeof one);
  require(wait_until([this, serial] {
    const std::lock_guard lock(mutex_);
    return obeyed_ == serial;
  }));
}

void Proxy::serve() {
  while (true) {
    turn();
    std::uint64_t ignored = 0;
    static_cast<void>(::read(wake_.get(), &ignored, sizeof ignored) < 0);
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    if (obeyed_ == wanted_.serial) continue;
    obey(wanted_);
    obeyed_ = wanted_.serial;
  }
}

void Proxy::obey(const Orders& orders) {
  now_ = orders;
  for (const auto& link : links_) {
    const bool has_hole = link->requests.has_hole || link->replies.has_hole;
    const bool deaf = now_.mode == Mode::swallow || now_.mode == Mode::drop_replies;
    if (now_.mode == Mode::refuse || (has_hole && !deaf)) link->reset();
  }
}

void Proxy::accept_client() {
  auto link = std::make_unique<Link>();
  link->client.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!link->client) return;
  link->server.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(target_);
  const bool refused =
      now_.mode == Mode::refuse ||
      ::connect(link->server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
  if (refused) {
    link->reset();
    return;
  }
  send_at_once(link->client.get());
  send_at_once(link->server.get());
  links_.push_back(std::move(link));
}

bool Proxy::reads(const Flow& flow) const {
  return now_.mode != Mode::freeze && !flow.source_ended;
}

/// Waits for something to do and does it.
void Proxy::turn() {
  std::vector<pollfd> polled = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  const auto interest = [this](const Flow& flow) {
    // Without interest, not even errors: they would be told again and again.
    return pollfd{reads(flow) ? flow.from->get() : -1, POLLIN, 0};
  };
  for (const auto& link : links_) {
    polled.push_back(interest(link->requests));
    polled.push_back(interest(link->replies));
  }
  require(::poll(polled.data(), polled.size(), timeout()) >= 0 || errno == EINTR);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = *links_[i];
    move(link.requests, polled[2 + 2 * i].revents != 0, false);
    if (!link.is_over()) move(link.replies, polled[3 + 2 * i].revents != 0, true);
  }
  std::erase_if(links_, [](const auto& link) { return link->is_over(); });
  if (polled[1].revents != 0) accept_client();
}

int Proxy::timeout() const {
  std::int64_t least = 1'000;
  for (const auto& link : links_) {
    for (const Flow* flow : {&link->requests, &link->replies}) {
      if (!flow->queue.empty()) least = std::min(least, flow->queue.front().due - now_ms());
    }
  }
  return static_cast<int>(std::max<std::int64_t>(least, 0));
}

/// Takes what there is to read and passes on what is due.
void Proxy::move(Flow& flow, bool readable, bool is_reply) {
  if (readable) {
    std::array<char, 65536> bytes;
    const ssize_t got = ::recv(flow.from->get(), bytes.data(), bytes.size(), 0);
    const bool thrown_away =
        now_.mode == Mode::swallow || (now_.mode == Mode::drop_replies && is_reply);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
      flow.source_ended = true;
    } else if (got > 0 && thrown_away) {
      flow.has_hole = true;
    } else if (got > 0) {
      flow.queue.push_back({now_ms() + now_.delay.count(),
                            std::string(bytes.data(), static_cast<std::size_t>(got))});
    }
  }
  while (!flow.queue.empty() && flow.queue.front().due <= now_ms()) {
    const std::string& bytes = flow.queue.front().bytes;
    // A test's messages fit into the socket's buffer; a receiver that is gone has no use for them.
    static_cast<void>(::send(flow.to->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    flow.queue.pop_front();
  }
  if (flow.source_ended && flow.queue.empty() && !flow.ended) {
    flow.ended = true;
    ::shutdown(flow.to->get(), SHUT_WR);
  }
}

}  // namespace redlock::test
