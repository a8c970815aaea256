// One node against a real redis-server: what the scripts do, and what becomes of requests when the
// server stops, restarts or hangs up.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/node_driver.h"
#include "support/redis_server.h"

TEST_SUITE_BEGIN("redis.node");

namespace redlock::test {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestId;

const std::string kKey = "lock:job";
const std::string kFence = "{lock:job}:fence";
const std::string kOtherRun = "ffeeddccbbaa99887766554433221100";

NodeDriver::Options other_run() {
  NodeDriver::Options options;
  options.run_id = kOtherRun;
  return options;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- the scripts ---------------------------------------------------------------------------------

TEST_CASE("acquire, renew, release") {
  RedisServer server;
  NodeDriver driver(server.url());
  const Outcome acquired = driver.outcome(driver.acquire());
  CHECK(acquired.answer == Answer::granted);
  CHECK(acquired.fence == FencingToken(1'000));  // the wall clock of the test
  CHECK(server.get(kKey) == token_text(1));
  CHECK(server.pttl(kKey) > 29'000);
  CHECK(server.pttl(kKey) <= 30'000);
  CHECK(server.get(kFence) == "1000");
  CHECK(server.pttl(kFence) == -1);

  server.command({"PEXPIRE", kKey, "5000"});
  const Outcome renewed = driver.outcome(driver.renew(1, 1'000));
  CHECK(renewed.answer == Answer::granted);
  CHECK(renewed.raised);
  CHECK(server.pttl(kKey) > 29'000);

  CHECK(driver.outcome(driver.release()).answer == Answer::granted);
  CHECK(server.keys() == std::vector<std::string>{kFence});
  CHECK(driver.outcome(driver.release()).answer == Answer::gone);
  CHECK(driver.outcome(driver.renew()).answer == Answer::gone);
  CHECK(server.keys() == std::vector<std::string>{kFence});
}

TEST_CASE("the fencing counter grows with each acquisition and never falls below the floor") {
  RedisServer server;
  NodeDriver driver(server.url());
  for (const std::uint64_t expected : {1'000U, 1'001U, 1'002U}) {
    CHECK(driver.outcome(driver.acquire()).fence == FencingToken(expected));
    driver.outcome(driver.release());
  }
  NodeDriver::Options later = other_run();
  later.wall_ms = 1'700'000'000'123;
  NodeDriver other(server.url(), later);
  CHECK(other.outcome(other.acquire()).fence == FencingToken(1'700'000'000'123));
  CHECK(server.get(kFence) == "1700000000123");
  // Somebody else's acquisition does not move while the lock is held.
  CHECK(driver.outcome(driver.acquire()).answer == Answer::held);
  CHECK(server.get(kFence) == "1700000000123");
}

TEST_CASE("a renewal raises the counter, never lowers it") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  CHECK(driver.outcome(driver.renew(1, 5'000)).raised);
  CHECK(server.get(kFence) == "5000");
  CHECK(driver.outcome(driver.renew(1, 4'000)).raised);
  CHECK(server.get(kFence) == "5000");
  server.del(kFence);
  CHECK(driver.outcome(driver.renew(1, 5'000)).raised);
  CHECK(server.get(kFence) == "5000");
  CHECK(server.pttl(kFence) == -1);
}

TEST_CASE("a counter that is none: no new lock, but a held one is kept") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  std::vector<std::string> spoil;
  bool can_raise = false;
  SUBCASE("a list") {
    spoil = {"RPUSH", kFence, "x"};
  }
  SUBCASE("a word") {
    spoil = {"SET", kFence, "word"};
  }
  SUBCASE("too large for exact arithmetic") {
    spoil = {"SET", kFence, "9007199254740992"};
    can_raise = true;
  }
  SUBCASE("negative") {
    spoil = {"SET", kFence, "-1"};
    can_raise = true;
  }
  server.del(kFence);
  server.command(spoil);
  const Outcome renewed = driver.outcome(driver.renew(1, 1'000));
  CHECK(renewed.answer == Answer::granted);
  CHECK(renewed.raised == can_raise);
  server.del(kKey);
  server.del(kFence);
  server.command(spoil);
  const Outcome acquired = driver.outcome(driver.acquire());
  CHECK(acquired.answer == Answer::misconfigured);
  CHECK(contains(acquired.reason, ":fence"));
  CHECK(!server.exists(kKey));
}

TEST_CASE("held by another run: who and for how long") {
  RedisServer server;
  NodeDriver holder(server.url(), other_run());
  NodeDriver driver(server.url());
  holder.outcome(holder.acquire());
  const Outcome held = driver.outcome(driver.acquire());
  CHECK(held.answer == Answer::held);
  CHECK(held.holder == token_text(1, kOtherRun));
  CHECK(held.remaining > Duration::seconds(29));
  CHECK(held.remaining <= Duration::seconds(30));
  CHECK(driver.outcome(driver.renew()).answer == Answer::foreign);
  CHECK(driver.outcome(driver.release()).answer == Answer::foreign);
  CHECK(server.get(kKey) == token_text(1, kOtherRun));
}

TEST_CASE("keys of others: without ttl, of another type, empty, huge") {
  RedisServer server;
  NodeDriver driver(server.url());
  std::string holder;
  bool has_ttl = false;
  SUBCASE("no ttl") {
    server.set(kKey, "their token");
    holder = "their token";
  }
  SUBCASE("another type") {
    server.command({"HSET", kKey, "field", "1"});
  }
  SUBCASE("another type with ttl") {
    server.command({"HSET", kKey, "field", "1"});
    server.command({"PEXPIRE", kKey, "60000"});
    has_ttl = true;
  }
  SUBCASE("empty") {
    server.set(kKey, "");
  }
  SUBCASE("huge") {
    server.set_px(kKey, std::string(100'000, 'x'), 60'000);
    holder = std::string(512, 'x');
    has_ttl = true;
  }
  const std::string before = server.command({"DUMP", kKey}).text;
  const Outcome held = driver.outcome(driver.acquire());
  CHECK(held.answer == Answer::held);
  CHECK(held.holder == holder);
  CHECK(held.remaining.is_infinite() == !has_ttl);
  if (has_ttl) CHECK(held.remaining > Duration::seconds(50));
  CHECK(driver.outcome(driver.renew()).answer == Answer::foreign);
  CHECK(driver.outcome(driver.release()).answer == Answer::foreign);
  CHECK(server.command({"DUMP", kKey}).text == before);
  CHECK(server.keys() == std::vector<std::string>{kKey});
}

TEST_CASE("attempts of one run: a newer one takes over, an older one changes nothing") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire(9));
  CHECK(driver.outcome(driver.acquire(9)).answer == Answer::granted);
  CHECK(driver.outcome(driver.acquire(10)).answer == Answer::granted);
  CHECK(server.get(kKey) == token_text(10));
  server.command({"PEXPIRE", kKey, "5000"});
  CHECK(driver.outcome(driver.acquire(9)).answer == Answer::failed);
  CHECK(driver.outcome(driver.release(9)).answer == Answer::foreign);
  CHECK(driver.outcome(driver.renew(9)).answer == Answer::foreign);
  CHECK(server.get(kKey) == token_text(10));
  CHECK(server.pttl(kKey) <= 5'000);
}

TEST_CASE("any bytes make a key") {
  using namespace std::string_literals;
  for (const std::string& key : {" "s, "a b%{}*?[0-9]\\"s, "a\0b\r\n"s, "\xff\xfe"s, "{"s, "}"s,
                                 "{}a"s, "a{b"s, "lock:{tag}x"s, std::string(1'024, 'n')}) {
    CAPTURE(key);
    RedisServer server;
    NodeDriver::Options options;
    options.key = key;
    NodeDriver driver(server.url(), options);
    CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
    CHECK(server.get(key) == token_text(1));
    CHECK(server.keys().size() == 2);
    CHECK(driver.outcome(driver.release()).answer == Answer::granted);
    CHECK(server.keys() == std::vector<std::string>{redis::fence_key(LockKey(key))});
  }
}

// --- a server that stops, restarts or closes -----------------------------------------------------

TEST_CASE("a release behind a late acquire leaves no key, whether or not its answer is awaited") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  driver.outcome(driver.release());
  server.pause();
  const RequestId late = driver.acquire(2);
  const RequestId release = driver.release(2);
  driver.turn();
  SUBCASE("awaited") {
    server.resume();
    CHECK(driver.outcome(late).answer == Answer::granted);
    CHECK(driver.outcome(release).answer == Answer::granted);
  }
  SUBCASE("not awaited") {
    driver.destroy_node();
    server.resume();
    // The counter tells that the late acquire was executed.
    REQUIRE(wait_until([&server] { return server.get(kFence) == "1001"; }));
  }
  CHECK(wait_until([&server] { return !server.exists(kKey); }));
}

TEST_CASE("a late acquire of an old attempt, behind a newer one, does not overwrite it") {
  RedisServer server;
  NodeDriver old_connection(server.url());
  NodeDriver new_connection(server.url());
  for (NodeDriver* driver : {&old_connection, &new_connection}) {
    driver->outcome(driver->acquire());
    driver->outcome(driver->release());
  }
  CHECK(new_connection.outcome(new_connection.acquire(3)).answer == Answer::granted);
  const RequestId late = old_connection.acquire(2);
  CHECK(old_connection.outcome(late).answer == Answer::failed);
  CHECK(server.get(kKey) == token_text(3));
}

TEST_CASE("a stopped server is dropped after the silence limit and works again afterwards") {
  RedisServer server;
  NodeDriver::Options options;
  options.limits = {Duration::seconds(20), Duration::milliseconds(300)};
  NodeDriver driver(server.url(), options);
  driver.outcome(driver.acquire());
  server.pause();
  const RequestId renew = driver.renew();
  CHECK(driver.outcome(renew).answer == Answer::unknown);
  CHECK(driver.outcome(renew).reason == "no answer for 300ms");
  server.resume();
  CHECK(driver.outcome(driver.renew()).answer == Answer::granted);
}

TEST_CASE("a killed server ends requests as unknown; restarted, it is used again") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  server.pause();
  const RequestId renew = driver.renew();
  driver.turn();
  server.kill9();
  CHECK(driver.outcome(renew).answer == Answer::unknown);
  CHECK(!driver.outcome(renew).reason.empty());
  CHECK(driver.outcome(driver.renew()).reason == "connection refused");
  server.restart();
  CHECK(driver.outcome(driver.renew()).answer == Answer::gone);
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
}

TEST_CASE("an idle connection that the server cut is replaced without anybody noticing") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  for (int i = 0; i < 5; ++i) driver.turn();
  CHECK(driver.outcome(driver.renew()).answer == Answer::granted);
}

TEST_CASE("a server that appears later is found") {
  ReservedPort port;
  NodeDriver driver("redis://127.0.0.1:" + std::to_string(port.number()));
  CHECK(driver.outcome(driver.acquire()).answer == Answer::unknown);
  RedisServer::Options options;
  options.port = port.number();
  port.release();
  const RedisServer server(options);
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
}

}  // namespace
}  // namespace redlock::test
