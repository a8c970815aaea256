#include "redis/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

namespace redlock::redis {
namespace {

template <class Sockaddr>
Sockaddr read_as(const sockaddr_storage& storage) {
  Sockaddr address;
  static_assert(sizeof address <= sizeof storage);
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

Peer read_address(const sockaddr_storage& storage) {
  Peer peer;
  if (storage.ss_family == AF_INET) {
    const auto v4 = read_as<sockaddr_in>(storage);
    peer.address.assign(reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr);
    peer.port = ntohs(v4.sin_port);
    peer.this_host = peer.address.front() == 127;
  } else if (storage.ss_family == AF_INET6) {
    const auto v6 = read_as<sockaddr_in6>(storage);
    peer.address.assign(reinterpret_cast<const char*>(&v6.sin6_addr), sizeof v6.sin6_addr);
    peer.port = ntohs(v6.sin6_port);
    peer.this_host = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
  } else if (storage.ss_family == AF_UNIX) {
    peer.address = read_as<sockaddr_un>(storage).sun_path;
    peer.this_host = true;
  }
  return peer;
}

}  // namespace

Peer peer_of(int fd) {
  sockaddr_storage there{};
  sockaddr_storage here{};
  socklen_t length = sizeof there;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &length) != 0) return {};
  length = sizeof here;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &length) != 0) return {};
  Peer peer = read_address(there);
  peer.this_host = peer.this_host || peer.address == read_address(here).address;
  return peer;
}

bool may_be_one(const Peer& a, const Peer& b) {
  if (a.address.empty() || b.address.empty()) return false;
  if (a.address == b.address) return a.port == b.port;
  if (!a.this_host || !b.this_host) return false;
  return a.port == b.port || a.port == 0 || b.port == 0;
}

}  // namespace redlock::redis
