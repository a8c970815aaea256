// One node against a real redis-server that refuses, in its own words: states that pass, missing
// rights, wrong databases; and the sockets that lead to it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/node_driver.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"

TEST_SUITE_BEGIN("redis.refusals");

namespace redlock::test {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestId;

const std::string kKey = "lock:job";
const std::string kFence = "{lock:job}:fence";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- a server that cannot, by its own words ------------------------------------------------------

TEST_CASE("out of memory: no new lock, but renewing and releasing work") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  server.command({"PEXPIRE", kKey, "5000"});
  CHECK(driver.outcome(driver.renew(1, 1'000)).raised);
  CHECK(server.pttl(kKey) > 29'000);
  CHECK(driver.outcome(driver.release()).answer == Answer::granted);
  const Outcome acquired = driver.outcome(driver.acquire(2));
  CHECK(acquired.answer == Answer::failed);
  CHECK_MESSAGE(acquired.reason.starts_with("OOM command not allowed"), acquired.reason);
  CHECK(server.keys() == std::vector<std::string>{kFence});
}

TEST_CASE("a replica refuses, and its idea of foreign and gone does not count") {
  RedisServer server;
  const ReservedPort nobody;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  server.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
  const Outcome renewed = driver.outcome(driver.renew());
  CHECK(renewed.answer == Answer::failed);
  CHECK_MESSAGE(renewed.reason.starts_with("READONLY"), renewed.reason);
  CHECK(driver.outcome(driver.release()).reason.starts_with("READONLY"));
  for (const auto kind : {core::RequestKind::renew, core::RequestKind::release}) {
    const Outcome outcome = driver.outcome(driver.send(kind, 7));  // not what is stored
    CHECK(outcome.answer == Answer::failed);
    CHECK_MESSAGE(contains(outcome.reason, "replica"), outcome.reason);
  }
  CHECK(driver.outcome(driver.acquire(2)).answer == Answer::failed);
  server.command({"REPLICAOF", "NO", "ONE"});
  CHECK(driver.outcome(driver.renew(2)).answer == Answer::foreign);
  CHECK(driver.outcome(driver.renew()).answer == Answer::granted);
}

TEST_CASE("states of a server that pass") {
  RedisServer::Options options;
  options.arguments = {"--enable-protected-configs", "yes"};  // for CONFIG SET dir
  RedisServer server(options);
  const ReservedPort nobody;
  const TempDir directory;
  NodeDriver driver(server.url());
  std::string code;
  SUBCASE("a replica without its master") {
    server.command({"CONFIG", "SET", "replica-serve-stale-data", "no"});
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
    code = "MASTERDOWN";
  }
  SUBCASE("too few replicas") {
    server.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    code = "NOREPLICAS";
  }
  SUBCASE("the disk fails") {
    const std::string gone = directory.file("gone");
    std::filesystem::create_directory(gone);
    server.command({"CONFIG", "SET", "dir", gone});
    server.command({"CONFIG", "SET", "save", "3600 1000"});
    std::filesystem::remove_all(gone);
    server.command({"BGSAVE"});
    REQUIRE(wait_until(
        [&server] { return server.info("persistence", "rdb_last_bgsave_status") == "err"; }));
    code = "MISCONF";
  }
  SUBCASE("too many clients") {
    server.command({"CONFIG", "SET", "maxclients", "1"});
    code = "ERR max number of clients";
  }
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::failed);
  CHECK_MESSAGE(outcome.reason.starts_with(code), outcome.reason);
  CHECK(!server.exists(kKey));
}

TEST_CASE("a cluster without its slots") {
  RedisServer::Options options;
  options.arguments = {"--cluster-enabled", "yes"};
  RedisServer server(options);
  NodeDriver driver(server.url());
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::failed);
  CHECK_MESSAGE(outcome.reason.starts_with("CLUSTERDOWN"), outcome.reason);
  NodeDriver with_db(server.url("", "/1"));
  CHECK(with_db.outcome(with_db.acquire()).answer == Answer::misconfigured);
}

// --- rights and databases ------------------------------------------------------------------------

TEST_CASE("passwords") {
  RedisServer::Options options;
  options.password = "s3cr:t@/+ %";
  RedisServer server(options);
  const std::string encoded = "s3cr%3At%40%2F+%20%25";
  for (const std::string& userinfo : {":" + encoded, "default:" + encoded}) {
    NodeDriver driver(server.url(userinfo));
    CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
    driver.outcome(driver.release());
  }
  struct Row {
    std::string userinfo;
    std::string code;
  };
  for (const Row& row : {Row{"", "NOAUTH"}, Row{":n0pe", "WRONGPASS"}, Row{"ann:n0pe", "WRONGPASS"},
                         Row{"default", "WRONGPASS"}, Row{"default:", "WRONGPASS"}}) {
    CAPTURE(row.userinfo);
    NodeDriver driver(server.url(row.userinfo));
    const Outcome outcome = driver.outcome(driver.acquire());
    CHECK(outcome.answer == Answer::refused);
    CHECK_MESSAGE(outcome.reason.starts_with(row.code), outcome.reason);
    CHECK(!contains(outcome.reason, "n0pe"));
  }
  CHECK(server.keys() == std::vector<std::string>{kFence});
}

TEST_CASE("a password that nobody asked for is an error, not a lock") {
  RedisServer server;
  NodeDriver driver(server.url(":s3cret"));
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::refused);
  CHECK(contains(outcome.reason, "without any password configured"));
  CHECK(!contains(outcome.reason, "s3cret"));
  CHECK(server.keys().empty());
}

void add_user(RedisServer& server, const std::vector<std::string>& rules) {
  std::vector<std::string> command = {"ACL", "SETUSER", "ann", "on", ">pw"};
  command.insert(command.end(), rules.begin(), rules.end());
  REQUIRE(server.command(command).text == "OK");
}

TEST_CASE("the least rights: five commands and EVAL, ROLE not needed") {
  RedisServer server;
  add_user(server, {"~lock:*", "~{lock:*", "+eval", "+get", "+set", "+pttl", "+pexpire", "+del"});
  NodeDriver driver(server.url("ann:pw"));
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  CHECK(driver.outcome(driver.renew(1, 5'000)).raised);
  CHECK(driver.outcome(driver.renew(2)).answer == Answer::foreign);
  CHECK(driver.outcome(driver.release()).answer == Answer::granted);
  CHECK(driver.outcome(driver.renew()).answer == Answer::gone);
  server.command({"HSET", kKey, "field", "1"});
  CHECK(driver.outcome(driver.acquire()).answer == Answer::held);
}

TEST_CASE("a renewal that may not raise the counter still renews") {
  RedisServer server;
  NodeDriver owner(server.url());
  owner.outcome(owner.acquire());
  add_user(server, {"~*", "+eval", "+get", "+pexpire"});
  server.command({"PEXPIRE", kKey, "5000"});
  NodeDriver driver(server.url("ann:pw"));
  const Outcome renewed = driver.outcome(driver.renew(1, 5'000));
  CHECK(renewed.answer == Answer::granted);
  CHECK(!renewed.raised);
  CHECK(server.pttl(kKey) > 29'000);
  CHECK(server.get(kFence) == "1000");
}

TEST_CASE("missing rights are refusals, inside the scripts too") {
  RedisServer server;
  SUBCASE("EVAL itself") {
    add_user(server, {"~*", "+@all", "-eval"});
  }
  SUBCASE("a command of the script") {
    add_user(server, {"~*", "+@all", "-get"});
  }
  SUBCASE("writing") {
    add_user(server, {"~*", "+@all", "-set"});
  }
  SUBCASE("the key") {
    add_user(server, {"~other:*", "+@all"});
  }
  SUBCASE("the counter's key") {
    add_user(server, {"~lock:*", "+@all"});
  }
  NodeDriver driver(server.url("ann:pw"));
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK_MESSAGE(outcome.answer == Answer::refused, outcome.reason);
  CHECK_MESSAGE((contains(outcome.reason, "permission") || contains(outcome.reason, "can't")),
                outcome.reason);
  CHECK(!server.exists(kKey));
}

TEST_CASE("a server whose EVAL was taken away") {
  RedisServer::Options options;
  options.arguments = {"--rename-command", "EVAL", ""};
  RedisServer server(options);
  NodeDriver driver(server.url());
  const Outcome outcome = driver.outcome(driver.acquire());
  CHECK(outcome.answer == Answer::refused);
  CHECK(contains(outcome.reason, "rename-command"));
  CHECK(!contains(outcome.reason, kRunId));
}

TEST_CASE("databases") {
  RedisServer server;
  NodeDriver third(server.url("", "/3"));
  NodeDriver first(server.url());
  CHECK(third.outcome(third.acquire()).answer == Answer::granted);
  CHECK(server.keys().empty());
  CHECK(first.outcome(first.acquire()).answer == Answer::granted);
  NodeDriver missing(server.url("", "/99"));
  const Outcome outcome = missing.outcome(missing.acquire());
  CHECK(outcome.answer == Answer::misconfigured);
  CHECK_MESSAGE(contains(outcome.reason, "DB index is out of range"), outcome.reason);
}

// --- sockets -------------------------------------------------------------------------------------

TEST_CASE("a unix socket") {
  const TempDir directory;
  const std::string path = directory.file("redis socket");
  RedisServer server;
  const std::string socket = server.socket_url().substr(std::string("unix://").size());
  REQUIRE(::symlink(socket.c_str(), path.c_str()) == 0);
  NodeDriver driver("unix://" + directory.file("redis%20socket") + "?db=2");
  CHECK(driver.outcome(driver.acquire()).answer == Answer::granted);
  server.command({"SELECT", "2"});
  CHECK(server.exists(kKey));
  CHECK(driver.outcome(driver.release()).answer == Answer::granted);
}

std::set<int> open_descriptors() {
  std::set<int> result;
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) result.insert(fd);
  }
  return result;
}

TEST_CASE("every descriptor is close-on-exec, sends at once, and is closed in the end") {
  RedisServer server;
  server.command({"PING"});
  const std::set<int> before = open_descriptors();
  {
    NodeDriver driver(server.url());
    const RequestId request = driver.acquire();
    std::size_t sockets = 0;
    const auto check = [&] {
      for (const int fd : open_descriptors()) {
        if (before.contains(fd)) continue;
        CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        int on = 0;
        socklen_t size = sizeof on;
        if (::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size) != 0) continue;
        CHECK(on != 0);
        ++sockets;
      }
    };
    check();  // while it connects
    driver.outcome(request);
    check();
    CHECK(sockets == 2);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a renewal costs two turns of the loop: sending it and hearing the answer") {
  RedisServer server;
  NodeDriver driver(server.url());
  driver.outcome(driver.acquire());
  server.reset_counters();
  const RequestId renew = driver.renew();
  const std::size_t before = driver.turns;
  server.command({"PING"});  // by now the server has answered
  driver.turn();
  CHECK(driver.answered(renew));
  CHECK(driver.turns == before + 1);
  CHECK(server.script_calls() == 1);
}

}  // namespace
}  // namespace redlock::test
