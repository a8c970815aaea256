#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "redis/peer.h"

TEST_SUITE_BEGIN("redis.peer");

namespace redlock::redis {
namespace {

TEST_CASE("one address on one port may be one server, on two ports not") {
  const Peer here{"10.0.0.1", 6379, false};
  CHECK(may_be_one(here, here));
  CHECK(!may_be_one(here, {"10.0.0.1", 6380, false}));
  CHECK(!may_be_one(here, {"10.0.0.2", 6379, false}));
}

TEST_CASE("this host under two addresses may be one server where the port is the same") {
  const Peer v4{"127.0.0.1", 6379, true};
  CHECK(may_be_one(v4, {"::1", 6379, true}));
  CHECK(!may_be_one(v4, {"::1", 6380, true}));
  CHECK(!may_be_one(v4, {"10.0.0.2", 6379, false}));
}

TEST_CASE("a socket may be the same server as any port of this host") {
  const Peer socket{"/run/redis.sock", 0, true};
  CHECK(may_be_one(socket, {"127.0.0.1", 6379, true}));
  CHECK(may_be_one(socket, {"/run/other.sock", 0, true}));
  CHECK(!may_be_one(socket, {"10.0.0.2", 6379, false}));
}

TEST_CASE("what the system does not know is doubted by nobody") {
  CHECK(!may_be_one({}, {}));
  CHECK(peer_of(-1).address.empty());
}

TEST_CASE("a connection within this host is known as such, with the port that was reached") {
  for (const int family : {AF_INET, AF_INET6}) {
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
    }
    socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const UniqueFd listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener.get(), raw, length) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), raw, &length) == 0);
    const UniqueFd client(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(client.get(), raw, length) == 0);
    const Peer peer = peer_of(client.get());
    CHECK(peer.this_host);
    // The port stands at the same place in both.
    CHECK(peer.port == ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port));
  }
}

}  // namespace
}  // namespace redlock::redis
