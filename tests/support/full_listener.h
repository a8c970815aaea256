// A port that accepts no more: whoever connects to it waits. Headers only.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace redlock::test {

/// A listening socket that nobody accepts from and whose queue is full: connecting hangs.
class FullListener {
 public:
  FullListener() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_.get(), generic, length) == 0);
    REQUIRE(::listen(listener_.get(), 0) == 0);
    REQUIRE(::getsockname(listener_.get(), generic, &length) == 0);
    port_ = ::ntohs(address.sin_port);
    for (UniqueFd& filler : fillers_) {
      filler.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      static_cast<void>(::connect(filler.get(), generic, length));
    }
  }
  std::uint16_t port() const { return port_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  UniqueFd listener_;
  UniqueFd fillers_[4];
  std::uint16_t port_ = 0;
};

}  // namespace redlock::test
