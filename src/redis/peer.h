// Whom a connection has reached, as far as the system can tell without asking the server.
#pragma once

#include <cstdint>
#include <string>

namespace redlock::redis {

struct Peer {
  /// The bytes of a numeric address or the path of a socket.
  std::string address;
  /// 0 for a socket.
  std::uint16_t port = 0;
  bool this_host = false;
};

/// Of a connected socket; an empty Peer when the system does not say.
Peer peer_of(int fd);

/// Whether both may be one server under two names: the same address, or this host twice with one
/// port or a socket beside a port. Two servers of one host on one port differ only by the answer.
bool may_be_one(const Peer& a, const Peer& b);

}  // namespace redlock::redis
