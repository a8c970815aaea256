// What a real redis-server says of itself on acquiring: which one it is, and for how long it has
// been up; and what a heal does.
#include <doctest/doctest.h>

#include <string>

#include "support/node_driver.h"
#include "support/redis_server.h"

TEST_SUITE_BEGIN("redis.identity");

namespace redlock::test {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestKind;

const std::string kKey = "lock:job";
const std::string kFence = "{lock:job}:fence";
const std::string kOtherRun = "ffeeddccbbaa99887766554433221100";

NodeDriver::Options several() {
  NodeDriver::Options options;
  options.several = true;
  return options;
}

NodeDriver::Options only_older_than(Duration min_uptime) {
  NodeDriver::Options options;
  options.min_uptime = min_uptime;
  return options;
}

TEST_CASE("a server tells itself from others, whether it grants or is held, and after a restart") {
  RedisServer one;
  RedisServer two;
  NodeDriver::Options rival = several();
  rival.run_id = kOtherRun;
  NodeDriver first(one.url(), several());
  NodeDriver second(two.url(), several());
  NodeDriver late(one.url(), rival);
  const Outcome granted = first.outcome(first.acquire());
  const Outcome held = late.outcome(late.acquire());
  CHECK(granted.answer == Answer::granted);
  CHECK(granted.server == one.info("server", "run_id"));
  CHECK(held.answer == Answer::held);
  CHECK(held.server == granted.server);
  CHECK(second.outcome(second.acquire()).server == two.info("server", "run_id"));
  one.kill9();
  one.restart();
  NodeDriver again(one.url(), several());
  const Outcome after = again.outcome(again.acquire());
  CHECK(!after.server.empty());
  CHECK(after.server != granted.server);
}

TEST_CASE("nobody asks a single server which one it is") {
  RedisServer server;
  server.reset_counters();
  NodeDriver driver(server.url());
  CHECK(driver.outcome(driver.acquire()).server.empty());
  CHECK(server.calls("info") == 0);
}

TEST_CASE("a server that started too recently grants nothing and stores nothing") {
  RedisServer server;
  NodeDriver driver(server.url(), only_older_than(Duration::seconds(3600)));
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::young);
  CHECK(outcome.reason.find("--min-uptime") != std::string::npos);
  CHECK(server.keys().empty());
}

TEST_CASE("a server grants as soon as it is old enough, a second late at most") {
  RedisServer server;
  NodeDriver driver(server.url(), only_older_than(Duration::milliseconds(1)));
  // Its uptime is in whole seconds, rounded up: below two it may be less than the millisecond.
  Outcome outcome;
  const Stopwatch watch;
  do {
    outcome = driver.outcome(driver.acquire());
  } while (outcome.answer == Answer::young && watch.elapsed() < kPatience);
  CHECK(outcome.answer == Answer::granted);
  CHECK(std::stoll(server.info("server", "uptime_in_seconds")) >= 2);
}

TEST_CASE("a young server says held, and takes its key back from the holder") {
  RedisServer server;
  NodeDriver::Options rival = only_older_than(Duration::seconds(3600));
  rival.run_id = kOtherRun;
  NodeDriver holder(server.url(), only_older_than(Duration::seconds(3600)));
  NodeDriver late(server.url(), rival);
  const Outcome healed = holder.outcome(holder.send(RequestKind::heal, 1, 5'000));
  CHECK(healed.answer == Answer::granted);
  CHECK(healed.fence == FencingToken(5'000));
  CHECK(server.get(kKey) == token_text(1));
  CHECK(server.get(kFence) == "5000");
  CHECK(late.outcome(late.acquire()).answer == Answer::held);
}

TEST_CASE("a heal never takes somebody else's key and never lowers the counter") {
  RedisServer server;
  server.set_px(kKey, "other", 60'000);
  NodeDriver driver(server.url(), several());
  const Outcome held = driver.outcome(driver.send(RequestKind::heal, 1, 5'000));
  CHECK(held.answer == Answer::held);
  CHECK(held.holder == "other");
  CHECK(server.get(kKey) == "other");
  server.del(kKey);
  server.set(kFence, "7000");
  CHECK(driver.outcome(driver.send(RequestKind::heal, 1, 5'000)).fence == FencingToken(7'001));
}

TEST_CASE("where INFO is forbidden a server votes, and is said to hide its uptime") {
  RedisServer server;
  server.command({"ACL", "SETUSER", "app", "on", ">pw", "~lock:*", "~{lock:*", "+eval", "+get",
                  "+set", "+pttl", "+pexpire", "+del", "+role"});
  NodeDriver driver(server.url("app:pw"), only_older_than(Duration::seconds(3600)));
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::granted);
  CHECK(outcome.server.empty());
  CHECK(outcome.uptime_hidden);
}

TEST_CASE("a server that wants a password says so whatever is asked of it") {
  RedisServer::Options options;
  options.password = "secret";
  RedisServer server(options);
  for (const RequestKind kind :
       {RequestKind::acquire, RequestKind::heal, RequestKind::renew, RequestKind::release}) {
    NodeDriver driver(server.url(), several());
    const Outcome outcome = driver.outcome(driver.send(kind));
    CHECK(outcome.answer == Answer::refused);
    CHECK(outcome.reason.starts_with("NOAUTH"));
  }
}

}  // namespace
}  // namespace redlock::test
