// One server as a node: greeting it, asking it, and what becomes of requests when it fails. Against
// scripted servers; tests/e2e/redis_node_test.cpp has the real one.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/fake_redis.h"
#include "support/full_listener.h"
#include "support/node_driver.h"

TEST_SUITE_BEGIN("redis.node");

namespace redlock::test {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestId;
using core::RequestKind;

const std::string kGranted = resp::array({resp::integer(1), resp::bulk("1"), resp::bulk("")});
const std::string kGone = resp::array({resp::integer(-2)});

Reaction grant(const FakeRedis::Command& /*command*/) {
  return {kGranted};
}

NodeDriver::Options limits(Duration connect, Duration silence) {
  NodeDriver::Options options;
  options.limits = {connect, silence};
  return options;
}

/// Of the scripts only this one takes so many arguments.
bool is_acquire(const FakeRedis::Command& command) {
  return command.size() == 10;
}

constexpr Duration kShort = Duration::milliseconds(200);
constexpr Duration kLong = Duration::seconds(20);

TEST_CASE("a plain URL costs no command beside the request") {
  FakeRedis server(grant);
  NodeDriver driver(server.url());
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  const auto commands = server.commands();
  REQUIRE(commands.size() == 1);
  REQUIRE(commands[0].size() == 10);
  CHECK(commands[0][0] == "EVAL");
  CHECK(commands[0][2] == "2");
  CHECK(commands[0][3] == "lock:job");
  CHECK(commands[0][4] == "{lock:job}:fence");
  CHECK(commands[0][5] == kRunId + ".");
  CHECK(commands[0][6] == token_text(1));
  CHECK(commands[0][7] == "30000");
  CHECK(commands[0][8] == "1000");
  CHECK(commands[0][9].empty());
}

TEST_CASE(
    "a server is asked for its identity where there are several, for its uptime where it counts") {
  const auto least_uptime = [](RequestKind kind, Duration min_uptime, bool several) {
    FakeRedis server(grant);
    NodeDriver::Options options;
    options.min_uptime = min_uptime;
    options.several = several;
    NodeDriver driver(server.url(), options);
    driver.outcome(driver.send(kind));
    return server.commands().at(0).at(9);
  };
  CHECK(least_uptime(RequestKind::acquire, Duration(), true) == "0");
  CHECK(least_uptime(RequestKind::acquire, Duration::seconds(30), false) == "31");
  CHECK(least_uptime(RequestKind::acquire, Duration::milliseconds(1), true) == "2");
  CHECK(least_uptime(RequestKind::heal, Duration::seconds(30), true) == "0");
  CHECK(least_uptime(RequestKind::heal, Duration::seconds(30), false).empty());
}

TEST_CASE("a heal continues the number that was given out, not the clock") {
  FakeRedis server(grant);
  NodeDriver driver(server.url());
  driver.outcome(driver.send(RequestKind::heal, 1, 77));
  CHECK(server.commands().at(0).at(8) == "77");
}

TEST_CASE("keys are passed on byte for byte") {
  using namespace std::string_literals;
  FakeRedis server(grant);
  NodeDriver::Options options;
  options.key = "a b\0\r\n$5%s{\xff"s;
  NodeDriver driver(server.url(), options);
  driver.outcome(driver.acquire());
  driver.outcome(driver.renew(1, 17));
  driver.outcome(driver.release());
  for (const auto& command : server.commands()) CHECK(command[3] == options.key);
  CHECK(server.commands()[1].back() == "17");
}

TEST_CASE("AUTH and SELECT come first, and requests only when both have worked") {
  struct Row {
    std::string userinfo;
    std::string path;
    std::vector<FakeRedis::Command> greeting;
  };
  const std::vector<Row> rows = {
      {":s3cret", "", {{"AUTH", "s3cret"}}},
      {"ann:s3cret", "/0", {{"AUTH", "ann", "s3cret"}}},
      {"ann", "", {{"AUTH", "ann", ""}}},
      {"", "/3", {{"SELECT", "3"}}},
      {":a%40b%3A%2F%3F%23%25+%20=", "/3", {{"AUTH", "a@b:/?#%+ ="}, {"SELECT", "3"}}},
  };
  for (const Row& row : rows) {
    FakeRedis server([](const FakeRedis::Command& command) {
      return Reaction{command[0] == "EVAL" ? kGranted : resp::ok()};
    });
    NodeDriver driver(server.url(row.userinfo, row.path));
    const RequestId first = driver.acquire();
    const RequestId second = driver.renew();
    CHECK(driver.outcome(first).answer == Answer::granted);
    driver.outcome(second);
    auto commands = server.commands();
    REQUIRE(commands.size() == row.greeting.size() + 2);
    CHECK(commands.back()[0] == "EVAL");
    commands.resize(row.greeting.size());
    CHECK(commands == row.greeting);
  }
}

TEST_CASE("a refused AUTH or SELECT ends all requests and lets none through") {
  struct Row {
    std::string refused;
    std::string text;
    Answer answer;
  };
  const std::vector<Row> rows = {
      {"AUTH", "WRONGPASS invalid username-password pair or user is disabled.", Answer::refused},
      {"AUTH", "ERR unknown command 'AUTH', with args beginning with: 'ann' 's3cret' ",
       Answer::refused},
      {"AUTH", "LOADING Redis is loading the dataset in memory", Answer::failed},
      {"SELECT", "ERR DB index is out of range", Answer::misconfigured},
      {"SELECT", "NOPERM this user has no permissions to run the 'select' command",
       Answer::refused},
  };
  for (const Row& row : rows) {
    FakeRedis server([&row](const FakeRedis::Command& command) {
      return Reaction{command[0] == row.refused ? resp::error(row.text) : resp::ok()};
    });
    NodeDriver driver(server.url("ann:s3cret", "/99"));
    const std::vector<RequestId> requests = {driver.acquire(), driver.renew(), driver.release()};
    for (const RequestId request : requests) {
      const Outcome outcome = driver.outcome(request);
      CHECK(outcome.answer == row.answer);
      CHECK(outcome.reason.find(row.text.substr(0, 20)) == 0);
      CHECK(outcome.reason.find("s3cret") == std::string::npos);
    }
    for (const auto& command : server.commands()) CHECK(command[0] != "EVAL");
    CHECK(driver.links.empty());
    CHECK(driver.node().name() == "127.0.0.1:" + std::to_string(server.port()));
    CHECK(driver.node().wakeup().is_never());
  }
}

TEST_CASE("silence beyond the limit drops the connection, and the next request starts afresh") {
  std::size_t seen = 0;  // by the server's thread only
  FakeRedis server(
      [&seen](const FakeRedis::Command&) { return ++seen <= 3 ? Reaction{} : Reaction{kGranted}; });
  NodeDriver driver(server.url(), limits(kLong, kShort));
  const std::vector<RequestId> requests = {driver.acquire(), driver.release()};
  for (const RequestId request : requests) {
    CHECK(driver.outcome(request).answer == Answer::unknown);
    CHECK(driver.outcome(request).reason == "no answer for 200ms");
  }
  CHECK(driver.outcome(driver.acquire()).reason == "no answer for 200ms");
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  CHECK(server.connections() == 3);
}

TEST_CASE("only the oldest unanswered request counts for silence") {
  std::size_t seen = 0;
  FakeRedis server(
      [&seen](const FakeRedis::Command&) { return ++seen == 1 ? Reaction{kGranted} : Reaction{}; });
  NodeDriver driver(server.url(), limits(kLong, kShort));
  driver.outcome(driver.acquire());
  CHECK(driver.node().wakeup().is_never());
  const TimePoint sent = NodeDriver::now();
  const RequestId unanswered = driver.renew();
  CHECK(driver.node().wakeup() >= sent + kShort);
  pace(milliseconds(50));
  const RequestId younger = driver.renew();
  CHECK(driver.node().wakeup() <= sent + kShort + Duration::milliseconds(40));
  CHECK(driver.outcome(unanswered).answer == Answer::unknown);
  CHECK(driver.answered(younger));
}

TEST_CASE("a connection that breaks in the middle: one unknown each, and the next request works") {
  std::size_t seen = 0;
  FakeRedis server([&seen](const FakeRedis::Command&) {
    ++seen;
    if (seen == 1) return Reaction{kGranted};
    return seen == 2 ? Reaction{"*2\r\n:1\r\n$1", true} : Reaction{kGranted};
  });
  NodeDriver driver(server.url());
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  const std::vector<RequestId> requests = {driver.acquire(2), driver.release(2)};
  for (const RequestId request : requests) {
    CHECK(driver.outcome(request).answer == Answer::unknown);
    CHECK(driver.outcome(request).reason.find("TLS") == std::string::npos);
  }
  CHECK(driver.outcome(driver.acquire(3)).answer == Answer::granted);
  CHECK(server.connections() == 2);
  CHECK(driver.links == std::vector<bool>{true, false, true});
}

TEST_CASE("a connection that the server closes while idle costs nothing") {
  FakeRedis server([](const FakeRedis::Command&) { return Reaction{kGranted, true}; });
  NodeDriver driver(server.url());
  for (int i = 0; i < 3; ++i) {
    CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
    // The end of the connection is seen with the reply or in one of the next turns.
    for (int turn = 0; turn < 3; ++turn) driver.turn();
  }
  CHECK(server.connections() == 3);
}

TEST_CASE("sending into a connection that is already cut ends as unknown like any other break") {
  FakeRedis server([](const FakeRedis::Command&) { return Reaction{kGranted, true}; });
  NodeDriver driver(server.url());
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  // Without a turn of the loop the end goes unnoticed: the first request makes the peer reset the
  // connection, sending the others fails.
  std::vector<RequestId> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(driver.acquire());
    pace(milliseconds(20));
  }
  for (const RequestId request : requests) {
    CHECK(driver.outcome(request).answer == Answer::unknown);
  }
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  CHECK(server.connections() == 2);
}

TEST_CASE("after READONLY the requests behind it end as unknown, none is sent twice") {
  FakeRedis server([](const FakeRedis::Command& command) {
    if (!is_acquire(command)) return Reaction{};
    return Reaction{resp::error("READONLY You can't write against a read only replica.")};
  });
  NodeDriver driver(server.url());
  const RequestId acquire = driver.acquire();
  const RequestId release = driver.release();
  CHECK(driver.outcome(acquire).answer == Answer::failed);
  CHECK(driver.outcome(release).answer == Answer::unknown);
  CHECK(driver.outcome(release).reason.find("connection dropped after: READONLY") == 0);
  CHECK(server.commands().size() <= 2);
}

TEST_CASE("while ROLE is asked other replies go on, and an end of the connection ends both") {
  FakeRedis server([](const FakeRedis::Command& command) {
    if (command[0] == "ROLE") return Reaction{};
    if (command[2] == "1") return Reaction{"", true};  // release has one key
    return is_acquire(command) ? Reaction{kGranted} : Reaction{kGone};
  });
  NodeDriver driver(server.url());
  const RequestId renew = driver.renew();
  const RequestId acquire = driver.acquire();
  CHECK(driver.outcome(acquire).answer == Answer::granted);
  CHECK(!driver.answered(renew));
  const RequestId release = driver.release();
  CHECK(driver.outcome(renew).answer == Answer::unknown);
  CHECK(driver.outcome(release).answer == Answer::unknown);
}

TEST_CASE("replies that come byte by byte are put together") {
  std::size_t seen = 0;
  FakeRedis server([&seen](const FakeRedis::Command&) {
    const char* const parts[] = {"*3\r", "\n:1\r\n$", "13\r\n17000", "00000123\r\n$0\r\n\r\n"};
    return Reaction{parts[seen++]};
  });
  NodeDriver driver(server.url());
  // Each further request makes the server send the next part.
  const RequestId first = driver.acquire();
  for (int i = 0; i < 3; ++i) driver.acquire();
  CHECK(driver.outcome(first).fence == FencingToken(1'700'000'000'123));
}

TEST_CASE("a reply to nothing that was asked ends the connection, and nothing else") {
  for (const std::size_t surplus : {std::size_t{1}, std::size_t{2}, std::size_t{500}}) {
    CAPTURE(surplus);
    FakeRedis server([surplus](const FakeRedis::Command&) {
      std::string bytes;
      for (std::size_t i = 0; i <= surplus; ++i) bytes += kGranted;
      return Reaction{bytes};
    });
    NodeDriver driver(server.url());
    CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
    REQUIRE(driver.turn_until([&driver] { return driver.links.size() == 2; }));
    CHECK(!driver.links.back());
    CHECK(driver.outcome(driver.acquire(2)).answer == Answer::granted);
    CHECK(server.connections() == 2);
  }
}

TEST_CASE("an array of more elements than anybody asks for is no reply") {
  FakeRedis server([](const FakeRedis::Command&) { return Reaction{"*100000000\r\n"}; });
  NodeDriver driver(server.url());
  CHECK(driver.outcome(driver.acquire()).answer == Answer::misconfigured);
}

TEST_CASE("destroying the node reports nothing any more") {
  FakeRedis silent([](const FakeRedis::Command&) { return Reaction{}; });
  const FullListener hanging;
  std::string url;
  SUBCASE("ready") {
    url = silent.url();
  }
  SUBCASE("greeting") {
    url = silent.url(":pw");
  }
  SUBCASE("connecting") {
    url = hanging.url();
  }
  SUBCASE("resolving") {
    url = "redis://never.answered";
  }
  NodeDriver driver(url);
  const RequestId request = driver.acquire();
  if (url.find(std::to_string(silent.port())) != std::string::npos) {
    REQUIRE(driver.turn_until([&silent] { return !silent.commands().empty(); }));
  }
  const auto links = driver.links;
  driver.destroy_node();
  driver.resolver.answers.emplace("never.answered", Error{"too late"});
  for (int i = 0; i < 3; ++i) driver.turn();
  CHECK(!driver.answered(request));
  CHECK(driver.links == links);
}

}  // namespace
}  // namespace redlock::test
