// A server that cannot or will not grant the lock: the right status, a line with the way out, and
// nothing left behind.
#include <doctest/doctest.h>
#include <signal.h>

#include "support/lock_run.h"

TEST_SUITE_BEGIN("server fault");

namespace redlock::test {
namespace {

std::string address(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

/// COMMAND must not have run: the marker it would have written is missing.
struct Refused {
  TempDir dir;
  Ending ending;

  Refused(Launch launch, int code) {
    ending = launch.args({"job", "touch", dir.file("ran")}).run();
    CHECK_ENDING(ending, exit_with(code));
    CHECK(!exists(dir.file("ran")));
    CHECK(ending.out == "");
    CHECK(ending.err.find("redlock-run: ") == 0);
  }
};

TEST_CASE("a port where nobody listens is 69 at once, with the address and the reason") {
  const ReservedPort port;
  const Refused refused(redlock({"-r", "redis://" + address(port.number())}), 69);
  CHECK(contains(refused.ending.err, address(port.number())));
  CHECK(contains(refused.ending.err, "refused"));
  CHECK(refused.ending.elapsed < milliseconds(3'000));
}

TEST_CASE("a host name that does not exist is 69 and named") {
  const Refused refused(redlock({"-r", "redis://no-such-host.invalid"}), 69);
  CHECK(contains(refused.ending.err, "no-such-host.invalid"));
}

TEST_CASE("a silent server is 69 within the limits, and gets no key when it wakes up") {
  RedisServer server;
  server.pause();
  const Refused refused(lock(server, {"--ttl", "3s"}), 69);
  CHECK(contains(refused.ending.err, address(server.port())));
  CHECK(refused.ending.elapsed < milliseconds(5'000));
  server.resume();
  // When only our own connection is left, all that the others had sent has been executed.
  CHECK(wait_until([&server] { return server.other_clients() == 0; }));
  CHECK(only_fences_left(server));
}

TEST_CASE("a server that falls silent while we wait gets no key when it wakes up") {
  RedisServer server;
  server.set_px(kJobKey, "holder", 2'000);
  server.reset_counters();
  Run waiter = lock(server, {"--ttl", "60s", "-w", "3s", "job", "true"}).start();
  REQUIRE(wait_until([&server] { return server.script_calls() > 0; }));
  server.pause();  // the holder's lease ends while its server sleeps
  CHECK(waiter.wait().how != exit_with(0));
  server.resume();
  CHECK(wait_until([&server] { return server.other_clients() == 0; }));
  CHECK(wait_until([&server] { return server.get(kJobKey) != "holder"; }));
  CHECK(only_fences_left(server));
}

TEST_CASE("a signal while a server is silent ends us within a second or so, without a key") {
  RedisServer server;
  server.pause();
  Run run = lock(server, {"--ttl", "60s", "-w", "60s", "job", "true"}).start();
  pace(milliseconds(200));
  run.signal(SIGTERM);
  const Stopwatch since;
  CHECK_ENDING(run.wait(), killed_by(SIGTERM));
  CHECK(since.elapsed() < milliseconds(4'000));
  server.resume();
  CHECK(wait_until([&server] { return server.other_clients() == 0; }));
  CHECK(only_fences_left(server));
}

TEST_CASE("a wrong password is 77 and is not printed") {
  RedisServer server({{}, "s3cret", 0});
  const Refused refused(redlock({"-r", server.url(":wr0ng")}), 77);
  CHECK(contains(refused.ending.err, address(server.port())));
  CHECK(!contains(refused.ending.err, "wr0ng"));
}

TEST_CASE("a wrong password is 77 at once even when waiting is allowed") {
  RedisServer server({{}, "s3cret", 0});
  const Refused refused(redlock({"-r", server.url(":wr0ng"), "-w", "60s"}), 77);
  CHECK(refused.ending.elapsed < milliseconds(5'000));
}

TEST_CASE("a missing password is 77") {
  RedisServer server({{}, "s3cret", 0});
  const Refused refused(lock(server, {}), 77);
  CHECK(contains(refused.ending.err, "password"));
}

TEST_CASE("a user that does not exist is 77") {
  RedisServer server;
  const Refused refused(redlock({"-r", server.url("nobody:pw")}), 77);
}

TEST_CASE("a user without the right to run scripts is 77, and the missing right is named") {
  RedisServer server;
  server.command({"ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-@scripting"});
  const Refused refused(redlock({"-r", server.url("app:pw")}), 77);
  CHECK(contains(refused.ending.err, "eval"));
}

TEST_CASE("a user without the right to the key is 77") {
  RedisServer server;
  server.command({"ACL", "SETUSER", "app", "on", ">pw", "~other:*", "+@all"});
  const Refused refused(redlock({"-r", server.url("app:pw")}), 77);
}

TEST_CASE("a user with only the documented rights can acquire, renew and release") {
  RedisServer server;
  const TempDir dir;
  const Reply reply =
      server.command({"ACL", "SETUSER", "app", "on", ">pw", "~lock:*", "~{lock:*", "+eval",
                      "+evalsha", "+set", "+get", "+del", "+pexpire", "+pttl", "+time", "+role"});
  REQUIRE(reply.text == "OK");
  Run run = redlock({"-r", server.url("app:pw"), "--ttl", "2s", "job", probe(), "await",
                     dir.file("go"), "exit", "7"})
                .start();
  REQUIRE(wait_until([&server] { return server.exists(kJobKey); }));
  CHECK(holds_for(milliseconds(4'000), [&server] { return server.exists(kJobKey); }));
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(7));
  CHECK(run.err() == "");
  CHECK(only_fences_left(server));
}

TEST_CASE("a database the server does not have is 78") {
  RedisServer server;
  const Refused refused(redlock({"-r", server.url("", "/99")}), 78);
  CHECK(contains(refused.ending.err, "database number"));
}

TEST_CASE("a server that is out of memory is 69 and the reason is named") {
  RedisServer server({{"--maxmemory", "1"}, "", 0});
  const Refused refused(lock(server, {}), 69);
  CHECK(contains(refused.ending.err, "memory"));
  CHECK(server.keys().empty());
}

TEST_CASE("a read-only replica is 69 and the reason is named") {
  RedisServer master;
  RedisServer replica({{"--replicaof", "127.0.0.1 " + std::to_string(master.port())}, "", 0});
  REQUIRE(
      wait_until([&replica] { return replica.info("replication", "master_link_status") == "up"; }));
  const Refused refused(lock(replica, {}), 69);
  CHECK(contains(refused.ending.err, "replica"));
  CHECK(master.keys().empty());
}

TEST_CASE("a server without enough replicas for a write is 69 and the reason is named") {
  RedisServer server({{"--min-replicas-to-write", "1"}, "", 0});
  const Refused refused(lock(server, {}), 69);
  CHECK(contains(refused.ending.err, "NOREPLICAS"));
}

TEST_CASE("a Sentinel given as a server is 78 and said so") {
  RedisServer master;
  const TempDir dir;
  const std::string config = dir.write(
      "sentinel.conf", "sentinel monitor m 127.0.0.1 " + std::to_string(master.port()) + " 1\n");
  ReservedPort port;
  const std::string number = std::to_string(port.number());
  port.release();
  const Run sentinel =
      Launch({"redis-server", config, "--sentinel", "--port", number, "--bind", "127.0.0.1"})
          .start();
  const std::string own = "process_id:" + std::to_string(sentinel.pid()) + "\r";
  REQUIRE(wait_until([&number, &own] {
    return contains(Launch({"redis-cli", "-p", number, "info", "server"}).run().out, own);
  }));
  const Refused refused(redlock({"-r", "redis://127.0.0.1:" + number}), 78);
  CHECK(contains(refused.ending.err, "entinel"));
}

TEST_CASE("something that is not Redis is not taken for a server, and named") {
  const TempDir dir;
  Launch http({"python3", "-c",
               "import socket,sys\n"
               "s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()\n"
               "open(sys.argv[1],'w').write(str(s.getsockname()[1])+'\\n')\n"
               "while True:\n"
               "  c,_=s.accept(); c.recv(100); c.send(b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n')\n"
               "  c.close()\n",
               dir.file("port")});
  const Run listener = http.start();
  std::string port;
  REQUIRE(wait_until([&] { return contains(port = read_file(dir.file("port")), "\n"); }));
  port.pop_back();
  const Ending ending = redlock({"-r", "redis://127.0.0.1:" + port, "job", "true"}).run();
  const bool refused = ending.how == exit_with(69) || ending.how == exit_with(78);
  CHECK_MESSAGE(refused, ending.how);
  CHECK(contains(ending.err, "127.0.0.1:" + port));
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
