// Names and keys: any bytes, exactly those, on the server.
#include <doctest/doctest.h>

#include <algorithm>

#include "support/lock_run.h"

TEST_SUITE_BEGIN("name");

namespace redlock::test {
namespace {

/// Runs a job under `name` and checks, while it runs, that exactly `key` and `fence` exist.
void check_key(RedisServer& server, const std::vector<std::string>& options,
               const std::string& name, const std::string& key, const std::string& fence) {
  CAPTURE(name);
  server.command({"FLUSHALL"});
  const TempDir dir;
  Launch launch = lock(server, options);
  launch.args({name, probe(), "touch", dir.file("in"), "await", dir.file("go")});
  Run run = launch.start();
  REQUIRE(wait_until([&] { return exists(dir.file("in")) || run.ended(); }));
  std::vector<std::string> expected{key, fence};
  std::sort(expected.begin(), expected.end());
  CHECK(server.keys() == expected);
  CHECK(server.command({"TYPE", key}).text == "string");
  CHECK(server.pttl(key) > 0);
  CHECK(server.pttl(fence) == -1);
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(0));
  CHECK(server.keys() == std::vector<std::string>{fence});
}

TEST_CASE("the key is the prefix and the name, byte for byte") {
  RedisServer server;
  for (const std::string name :
       {"plain", "with space", "100%", "%s%n", "*", "?[a-z]", "\u00fcml\u00e4ut \u20ac",
        "/leading/slash", "line\nfeed", "\xff\xfe", "\"", "a:b", "{", "{}"}) {
    check_key(server, {}, name, "lock:" + name, "{lock:" + name + "}:fence");
  }
}

TEST_CASE("a key that has a hash tag keeps it for its counter") {
  RedisServer server;
  check_key(server, {}, "a{tag}b", "lock:a{tag}b", "lock:a{tag}b:fence");
}

TEST_CASE("--prefix replaces the prefix, and may be empty") {
  RedisServer server;
  check_key(server, {"--prefix", "other:"}, "job", "other:job", "{other:job}:fence");
  check_key(server, {"--prefix", ""}, "job", "job", "{job}:fence");
  check_key(server, {"--prefix="}, "job", "job", "{job}:fence");
}

TEST_CASE("a name of 1024 bytes is accepted, one more or none at all is a usage error") {
  RedisServer server;
  const std::string longest(1'024, 'x');
  check_key(server, {}, longest, "lock:" + longest, "{lock:" + longest + "}:fence");
  for (const std::string& name : {longest + "x", std::string()}) {
    const Ending ending = lock(server, {name, "true"}).run();
    CHECK_ENDING(ending, exit_with(64));
    CHECK(contains(ending.err, "NAME"));
  }
}

TEST_CASE("a name whose key would look like one of our own is a usage error") {
  RedisServer server;
  for (const std::string name : {"{x}:fence", "{x}:waiters", "a{x}b:fence"}) {
    CAPTURE(name);
    CHECK_ENDING(lock(server, {name, "true"}).run(), exit_with(64));
  }
  CHECK(server.keys().empty());
  CHECK_ENDING(lock(server, {"x:fence", "true"}).run(), exit_with(0));  // no tag, no likeness
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
