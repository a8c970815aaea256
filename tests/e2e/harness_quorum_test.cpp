// The harness for several servers: logs that must be called broken, restarts, proxies, partitions.
#include <doctest/doctest.h>
#include <signal.h>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/network.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/quorum.h"

TEST_SUITE_BEGIN("harness of quorums");

namespace redlock::test {
namespace {

JobLog entering_with(std::int64_t first, std::int64_t second) {
  return {{"enter", "a", 1, 100, first},
          {"beat", "a", 1, 150, 0},
          {"enter", "b", 2, 200, second},
          {"leave", "b", 2, 300, 0}};
}

TEST_CASE("the fence checker is content with numbers that grow, whatever the order of the lines") {
  CHECK(fence_disorder({}).empty());
  CHECK(fence_disorder(entering_with(5, 6)).empty());
  JobLog log = entering_with(5, 6);
  std::swap(log[0], log[2]);
  CHECK(fence_disorder(log).empty());
}

TEST_CASE("the fence checker finds a number that repeats, shrinks or is missing") {
  CHECK(!fence_disorder(entering_with(5, 5)).empty());
  CHECK(!fence_disorder(entering_with(6, 5)).empty());
  CHECK(!fence_disorder(entering_with(5, 0)).empty());
  CHECK(!fence_disorder(entering_with(0, 5)).empty());
}

TEST_CASE("the fence checker compares neighbours in time, not lines") {
  JobLog log = entering_with(5, 6);
  std::swap(log[0].fence, log[2].fence);
  std::swap(log[0], log[2]);
  CHECK(!fence_disorder(log).empty());
}

TEST_CASE("a job's enter carries the fencing number of its environment") {
  const TempDir dir;
  const std::string log = dir.file("log");
  CHECK_ENDING(
      Launch({probe(), "enter", log, "a", "leave", log, "a"}).env("REDLOCK_FENCE", "77").run(),
      exit_with(0));
  CHECK_ENDING(Launch({probe(), "enter", log, "b"}).run(), exit_with(0));
  REQUIRE(read_log(log).size() == 3);
  CHECK(read_log(log)[0].fence == 77);
  CHECK(read_log(log)[1].fence == 0);
  CHECK(fence_disorder(read_log(log)) == "run b entered with 0 after run a with 77");
}

TEST_CASE("gathering waits for spawned processes that have come loose") {
  const TempDir dir;
  const std::string log = dir.file("log");
  CHECK_ENDING(Launch({probe(), "children-live", "100", "spawn", "daemon", log, "a", "spawn",
                       "orphan", log, "a", "gather", "leave", log, "b"})
                   .run(),
               exit_with(0));
  CHECK(count(read_log(log), "beat", "a") > 0);
  CHECK(last_sign_of_life(read_log(log), "a") < last_sign_of_life(read_log(log), "b"));
}

TEST_CASE("a server that keeps its data has them after kill -9, unless it is to be empty") {
  RedisServer server({.keeps_data = true});
  server.set("k", "v");
  server.kill9();
  server.restart();
  CHECK(server.get("k") == "v");
  server.kill9();
  server.restart_empty();
  CHECK(server.keys().empty());
}

TEST_CASE("a server listens where it is told, and on a socket") {
  RedisServer server({.addresses = {"127.0.0.2", "127.0.0.3"}});
  CHECK(server.url() == "redis://127.0.0.2:" + std::to_string(server.port()));
  for (const std::string host : {"127.0.0.2", "127.0.0.3"}) {
    const Launch ping({"redis-cli", "-h", host, "-p", std::to_string(server.port()), "ping"});
    CHECK(ping.run().out == "PONG\n");
  }
  const std::string path = server.socket_url().substr(7);
  CHECK(Launch({"redis-cli", "-s", path, "ping"}).run().out == "PONG\n");
}

TEST_CASE("a server leaves clients without an answer for the time asked for, and cuts others") {
  RedisServer server;
  server.pause_clients(milliseconds(300));
  const Stopwatch watch;
  CHECK(server.get("k") == std::nullopt);
  CHECK(watch.elapsed() >= milliseconds(200));
  Run other = Launch({"redis-cli", "-p", std::to_string(server.port()), "blpop", "x", "0"}).start();
  REQUIRE(
      wait_until([&server] { return server.calls("blpop") > 0 || server.other_clients() > 0; }));
  server.cut_clients();
  CHECK(wait_until([&server] { return server.other_clients() == 0; }));
}

/// What redis-cli gets for PING, when it waits for `seconds` at most.
std::string ping(std::uint16_t port, const std::string& seconds = "20") {
  return Launch({"timeout", seconds, "redis-cli", "-p", std::to_string(port), "ping"}).run().out;
}

TEST_CASE("a proxy passes on, delays, and comes back from it") {
  RedisServer server;
  Proxy proxy(server.port());
  CHECK(ping(proxy.port()) == "PONG\n");
  proxy.delay(milliseconds(150));
  const Stopwatch watch;
  CHECK(ping(proxy.port()) == "PONG\n");
  CHECK(watch.elapsed() >= milliseconds(300));
  proxy.pass();
  CHECK(ping(proxy.port()) == "PONG\n");
}

TEST_CASE("a frozen proxy keeps a request for later, even of a client that has gone") {
  RedisServer server;
  Proxy proxy(server.port());
  proxy.freeze();
  const std::string port = std::to_string(proxy.port());
  CHECK(Launch({"timeout", "0.5", "redis-cli", "-p", port, "set", "k", "v"}).run().out == "");
  CHECK(!server.exists("k"));
  proxy.pass();
  CHECK(wait_until([&server] { return server.exists("k"); }));
}

TEST_CASE("a proxy that swallows executes nothing; one that drops replies executes") {
  RedisServer server;
  Proxy proxy(server.port());
  const std::string port = std::to_string(proxy.port());
  proxy.swallow();
  CHECK(Launch({"timeout", "0.5", "redis-cli", "-p", port, "set", "a", "v"}).run().out == "");
  proxy.drop_replies();
  CHECK(Launch({"timeout", "0.5", "redis-cli", "-p", port, "set", "b", "v"}).run().out == "");
  proxy.pass();
  CHECK(ping(proxy.port()) == "PONG\n");
  CHECK(server.keys() == std::vector<std::string>{"b"});
}

TEST_CASE("a proxy that refuses resets connections that stand and those to come") {
  RedisServer server;
  Proxy proxy(server.port());
  const std::string port = std::to_string(proxy.port());
  Run standing = Launch({"redis-cli", "-p", port, "blpop", "x", "0"}).start();
  REQUIRE(wait_until([&server] { return server.info("clients", "blocked_clients") == "1"; }));
  proxy.refuse();
  CHECK_ENDING(standing.wait(), exit_with(1));
  CHECK(ping(proxy.port()) == "");
  proxy.pass();
  CHECK(ping(proxy.port()) == "PONG\n");
}

TEST_CASE("a network cuts one host off one server, or only its replies, and heals") {
  Network network;
  RedisServer server(
      {.port = 6379, .addresses = {Network::address(2)}, .under = network.among_servers()});
  const auto set_from = [&network](std::size_t host, const std::string& key) {
    return Launch({"timeout", "0.5", "redis-cli", "-h", Network::address(2), "set", key, "v"})
        .under(network.on_host(host))
        .run()
        .out;
  };
  CHECK(set_from(0, "a") == "OK\n");
  network.cut(0, 2);
  network.cut(1, 3);
  CHECK(set_from(0, "b") == "");
  CHECK(set_from(1, "c") == "OK\n");
  network.heal();
  CHECK(set_from(0, "d") == "OK\n");
  CHECK(server.keys() == std::vector<std::string>{"a", "c", "d"});
}

TEST_CASE("nothing of a network is left when it goes out of scope") {
  std::vector<pid_t> machines;
  {
    const Network network;
    machines = children_of(::getpid());
    CHECK(machines.size() == 1 + Network::kHosts);
  }
  for (const pid_t pid : machines) CHECK(!is_running(pid));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
