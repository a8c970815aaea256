// The list of servers itself: the same one twice, none for locks, too young, a poor number of them.
#include <doctest/doctest.h>

#include <algorithm>

#include "support/lock_run.h"
#include "support/quorum.h"
#include "support/quorum_job.h"

TEST_SUITE_BEGIN("quorum list");

namespace redlock::test {
namespace {

/// Runs over these URLs and checks that COMMAND was not started, and the status.
Ending refused(const std::vector<std::string>& urls, const std::vector<std::string>& options,
               int code) {
  const TempDir dir;
  std::vector<std::string> words;
  for (const std::string& url : urls) words.insert(words.end(), {"-r", url});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"job", "touch", dir.file("ran")});
  const Ending ending = redlock(words).run();
  CHECK_ENDING(ending, exit_with(code));
  CHECK(!exists(dir.file("ran")));
  return ending;
}

const std::vector<std::string> kFreshVotes{"--min-uptime", "0"};

TEST_CASE("one server by two addresses is 78, names both, and starts nothing") {
  RedisServer one({.addresses = {"127.0.0.1", "127.0.0.2"}});
  RedisServer other;
  const std::string second = "127.0.0.2:" + std::to_string(one.port());
  const Ending ending = refused({one.url(), other.url(), "redis://" + second}, kFreshVotes, 78);
  CHECK(contains(ending.err, one.name()));
  CHECK(contains(ending.err, second));
  CHECK(contains(ending.err, "same server"));
  CHECK(only_fences_left(one));
  CHECK(only_fences_left(other));
}

TEST_CASE("one server by its port and its socket is 78, names both, and starts nothing") {
  RedisServer one;
  RedisServer other;
  const Ending ending = refused({other.url(), one.socket_url(), one.url()}, kFreshVotes, 78);
  CHECK(contains(ending.err, one.name()));
  CHECK(contains(ending.err, one.socket_url().substr(7)));
  CHECK(contains(ending.err, "same server"));
  CHECK(only_fences_left(one));
  CHECK(only_fences_left(other));
}

TEST_CASE("one server listed twice is 78 while the others are dead, too") {
  RedisServer one({.addresses = {"127.0.0.1", "127.0.0.2"}});
  const ReservedPort dead;
  refused({one.url(), "redis://127.0.0.2:" + std::to_string(one.port()),
           "redis://127.0.0.1:" + std::to_string(dead.number())},
          kFreshVotes, 78);
  CHECK(only_fences_left(one));
}

TEST_CASE("the same address twice is 78 without asking anybody") {
  RedisServer one;
  one.reset_counters();
  const std::string port = std::to_string(one.port());
  refused({one.url(), "redis://localhost:" + port, one.url("", "/0")}, {}, 78);
  CHECK(one.info("stats", "total_connections_received") == "0");
}

TEST_CASE("servers that refuse INFO vote, and one line says what is off and how to allow it") {
  Quorum quorum(3);
  std::vector<std::string> words{"--min-uptime", "1h"};
  quorum.each(0, 3, [&words](RedisServer& server) {
    server.command({"ACL", "SETUSER", "app", "on", ">pw", "~lock:*", "~{lock:*", "+eval", "+get",
                    "+set", "+pttl", "+pexpire", "+del", "+role"});
    words.insert(words.end(), {"-r", server.url("app:pw")});
  });
  words.insert(words.end(), {"job", "true"});
  const Ending ending = redlock(words).run();
  CHECK_ENDING(ending, exit_with(0));
  CHECK(std::count(ending.err.begin(), ending.err.end(), '\n') == 1);
  CHECK(contains(ending.err, "+info"));
  CHECK(contains(ending.err, "--min-uptime"));
  quorum.each(0, 3, [&ending](RedisServer& server) { CHECK(contains(ending.err, server.name())); });
  CHECK(!contains(ending.err, "pw@"));
}

TEST_CASE("two servers work, with one line of advice; so do four") {
  for (const std::size_t size : {std::size_t{2}, std::size_t{4}}) {
    Quorum quorum(size);
    const Ending ending = lock(quorum, {"job", "true"}).run();
    CHECK_ENDING(ending, exit_with(0));
    CHECK(lines_of(ending.err).size() == 1);
    CHECK(contains(ending.err, std::to_string(size) + " servers"));
    CHECK(quorum.only_fences_left());
    CHECK(lock(quorum, {"-q", "job", "true"}).run().err == "");
  }
}

TEST_CASE("two servers need both: one dead is 69") {
  Quorum quorum(2);
  quorum[0].kill9();
  const Ending ending = lock(quorum, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(69));
  CHECK(contains(ending.err, quorum[0].name()));
  CHECK(only_fences_left(quorum[1]));
}

/// A Sentinel on a port of its own that watches `master`.
struct Sentinel {
  TempDir dir;
  ReservedPort port;
  Run run;

  explicit Sentinel(const RedisServer& master) : run(start(master)) {
    REQUIRE(wait_until([this] {
      return contains(Launch({"redis-cli", "-p", std::to_string(port.number()), "ping"}).run().out,
                      "PONG");
    }));
  }
  Run start(const RedisServer& master) {
    const std::string number = std::to_string(port.number());
    port.release();
    const std::string file =
        dir.write("sentinel.conf", "port " + number + "\nbind 127.0.0.1\ndir " + dir.path() +
                                       "\nsentinel monitor mymaster 127.0.0.1 " +
                                       std::to_string(master.port()) + " 1\n");
    return Launch({"redis-server", file, "--sentinel"}).start();
  }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port.number()); }
};

TEST_CASE("a Sentinel among the servers is 78, and the line says what to do") {
  Quorum quorum(2);
  const Sentinel sentinel(quorum[0]);
  const Ending ending =
      refused({quorum[0].url(), quorum[1].url(), sentinel.url()}, kFreshVotes, 78);
  CHECK(contains(ending.err, sentinel.url().substr(8)));
  CHECK(contains(ending.err, "Sentinel"));
  CHECK(quorum.only_fences_left());
}

TEST_CASE("a replica does not vote, and the line says so and what to do") {
  Quorum quorum(2, [](std::size_t) {
    return Quorum::Options{.arguments = {"--repl-diskless-sync-delay", "0"}};
  });
  RedisServer replica(
      {.arguments = {"--replicaof", "127.0.0.1", std::to_string(quorum[0].port())}});
  REQUIRE(
      wait_until([&replica] { return replica.info("replication", "master_link_status") == "up"; }));
  quorum[1].kill9();
  const Ending ending = refused({quorum[0].url(), quorum[1].url(), replica.url()}, kFreshVotes, 69);
  CHECK(contains(ending.err, replica.name()));
  CHECK(contains(ending.err, "replica"));
  CHECK(contains(ending.err, "master"));
  CHECK(wait_until([&replica] { return only_fences_left(replica); }));
}

TEST_CASE("fresh servers do not vote: 69, and the line says which and why") {
  Quorum quorum(3);
  quorum.young_servers_do_not_vote();
  const Ending ending = lock(quorum, {"job", "true"}).run();
  CHECK_ENDING(ending, exit_with(69));
  CHECK(contains(ending.err, "--min-uptime"));
  CHECK(contains(ending.err, "127.0.0.1:"));
  CHECK(quorum.only_fences_left());
}

TEST_CASE("a minority of fresh servers costs a waiter nothing, and a majority is ridden out") {
  Quorum quorum(3);
  const std::vector<std::string> options{"--min-uptime", "2s", "-w", "60s", "job", "true"};
  quorum.young_servers_do_not_vote();
  const Stopwatch watch;
  CHECK_ENDING(lock(quorum, options).run(), exit_with(0));
  CHECK(watch.elapsed() >= milliseconds(1'000));
  // Two were old enough; the third may be of the next second.
  quorum.each(1, 3, [](RedisServer& server) {
    CHECK(wait_until(
        [&server] { return std::stoll(server.info("server", "uptime_in_seconds")) >= 3; }));
  });
  quorum[0].kill9();
  quorum[0].restart();
  quorum[0].reset_counters();
  CHECK_ENDING(lock(quorum, {"--min-uptime", "2s", "job", "true"}).run(), exit_with(0));
  CHECK(quorum[0].info("server", "uptime_in_seconds").size() == 1);
}

TEST_CASE("a server that restarts empty does not help a rival to the lock of a dead holder") {
  Quorum quorum(3);
  quorum.young_servers_do_not_vote();
  // The key of a holder that died is left on two; one of them forgets it.
  quorum.each(0, 2, [](RedisServer& server) { server.set_px(kJobKey, "dead", 60'000); });
  quorum[0].kill9();
  quorum[0].restart();
  const std::vector<std::string> options{"--min-uptime", "10s", "-w", "1s", "job", "true"};
  const Ending ending = lock(quorum, options).run();
  CHECK_ENDING(ending, exit_with(69));
  CHECK(contains(ending.err, quorum[0].name()));
  CHECK(quorum[1].get(kJobKey) == "dead");
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
