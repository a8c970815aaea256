// How a node finds its server: which addresses it tries, for how long, and what it says when there
// is none.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/fake_redis.h"
#include "support/full_listener.h"
#include "support/node_driver.h"
#include "support/redis_server.h"

TEST_SUITE_BEGIN("redis.connect");

namespace redlock::test {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestId;

const std::string kGranted = resp::array({resp::integer(1), resp::bulk("1"), resp::bulk("")});

Reaction grant(const FakeRedis::Command& /*command*/) {
  return {kGranted};
}

redis::Address address_of(const char* ip, std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = ::htons(port);
  REQUIRE(::inet_pton(AF_INET, ip, &v4.sin_addr) == 1);
  redis::Address address;
  std::memcpy(&address.storage, &v4, sizeof v4);
  address.length = sizeof v4;
  return address;
}

NodeDriver::Options limits(Duration connect, Duration silence) {
  NodeDriver::Options options;
  options.limits = {connect, silence};
  return options;
}

constexpr Duration kShort = Duration::milliseconds(200);
constexpr Duration kLong = Duration::seconds(20);

TEST_CASE("nobody listens: unknown, with the system's words, every time") {
  const ReservedPort port;
  NodeDriver driver("redis://127.0.0.1:" + std::to_string(port.number()));
  for (int i = 0; i < 2; ++i) {
    const RequestId first = driver.acquire();
    const RequestId second = driver.release();
    for (const RequestId request : {first, second}) {
      CHECK(driver.outcome(request).answer == Answer::unknown);
      CHECK(driver.outcome(request).reason == "connection refused");
    }
  }
  CHECK(driver.links.empty());
}

TEST_CASE("an unreachable unix socket is told at once") {
  NodeDriver driver("unix:///nonexistent/redis.sock");
  const RequestId request = driver.acquire();
  CHECK(driver.answered(request));
  CHECK(driver.outcome(request).answer == Answer::unknown);
  CHECK(driver.outcome(request).reason == "no such file or directory");
  CHECK(driver.node().name() == "unix:/nonexistent/redis.sock");
}

TEST_CASE("localhost needs no resolver") {
  FakeRedis server(grant);
  NodeDriver driver("redis://LocalHost:" + std::to_string(server.port()));
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  CHECK(driver.resolver.questions == 0);
}

TEST_CASE("names are resolved afresh for every connection") {
  FakeRedis first([](const FakeRedis::Command&) {
    return Reaction{resp::error("READONLY You can't write against a read only replica.")};
  });
  FakeRedis second(grant);
  NodeDriver driver("redis://db.example:1");
  driver.resolver.answers.emplace("db.example", std::vector{address_of("127.0.0.1", first.port())});
  CHECK(driver.outcome(driver.acquire()).answer == Answer::failed);
  driver.resolver.answers.clear();
  driver.resolver.answers.emplace("db.example",
                                  std::vector{address_of("127.0.0.1", second.port())});
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  CHECK(driver.resolver.questions == 2);
}

TEST_CASE("a name that cannot be resolved: unknown, with the resolver's words") {
  NodeDriver driver("redis://db.example");
  driver.resolver.answers.emplace("db.example", Error{"db.example: no such host"});
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::unknown);
  CHECK(outcome.reason == "db.example: no such host");
  CHECK(driver.node().name() == "db.example:6379");
}

TEST_CASE("all addresses of a name are tried within the connect limit") {
  const ReservedPort refusing;
  const FullListener hanging;
  FakeRedis server(grant);
  NodeDriver driver("redis://db.example", limits(Duration::milliseconds(900), kLong));
  driver.resolver.answers.emplace(
      "db.example",
      std::vector{address_of("127.0.0.1", refusing.number()),
                  address_of("127.0.0.1", hanging.port()), address_of("127.0.0.1", server.port())});
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
}

TEST_CASE("the first address that failed tells why") {
  const ReservedPort refusing;
  const FullListener hanging;
  NodeDriver driver("redis://db.example", limits(kShort, kLong));
  driver.resolver.answers.emplace("db.example",
                                  std::vector{address_of("127.0.0.1", hanging.port()),
                                              address_of("127.0.0.1", refusing.number())});
  CHECK(driver.outcome(driver.acquire()).reason == "no connection within 200ms");
}

TEST_CASE("the connect limit covers resolving, connecting and the greeting") {
  std::string url;
  std::string reason = "no connection within 200ms";
  const FullListener hanging;
  FakeRedis silent([](const FakeRedis::Command&) { return Reaction{}; });
  SUBCASE("resolving") {
    url = "redis://never.answered";
  }
  SUBCASE("connecting") {
    url = hanging.url();
  }
  SUBCASE("AUTH") {
    url = silent.url(":s3cret");
  }
  SUBCASE("SELECT") {
    url = silent.url("", "/1");
  }
  NodeDriver driver(url, limits(kShort, kLong));
  const Stopwatch watch;
  const RequestId first = driver.acquire();
  const RequestId second = driver.release();
  CHECK(driver.node().wakeup() <= NodeDriver::now() + kShort);
  for (const RequestId request : {first, second}) {
    CHECK(driver.outcome(request).answer == Answer::unknown);
    CHECK(driver.outcome(request).reason == reason);
  }
  CHECK(watch.elapsed() >= milliseconds(200));
  CHECK(driver.node().wakeup().is_never());
}

}  // namespace
}  // namespace redlock::test
