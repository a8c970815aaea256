#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "redis/lock_text.h"

TEST_SUITE_BEGIN("redis.lock_text");

namespace redlock::redis {
namespace {

using namespace std::string_literals;

constexpr const char* kRun = "0123456789abcdef0123456789abcdef";

std::string fence_of(const std::string& key) {
  return fence_key(LockKey(key));
}

bool refused(const std::string& prefix, const std::string& name) {
  return !make_lock_key(prefix, LockName(name)).ok();
}

TEST_CASE("the key is prefix and name, byte for byte") {
  CHECK(make_lock_key("lock:", LockName("a b%{}*\n\0x"s)).value().get() == "lock:a b%{}*\n\0x"s);
  CHECK(make_lock_key("", LockName("/x")).value().get() == "/x");
}

TEST_CASE("the fencing counter stands beside the lock, in its slot") {
  CHECK(fence_of("lock:job") == "{lock:job}:fence");
  CHECK(fence_of("lock:{a}b") == "lock:{a}b:fence");
  CHECK(fence_of("{}a") == "{{}a}:fence");  // an empty tag is none
  CHECK(fence_of("a{b") == "{a{b}:fence");  // hashes as a{b
  CHECK(fence_of("a}b{") == "{a}b{}:fence");
  CHECK(fence_of("{a}:fence") == "{a}:fence:fence");
}

TEST_CASE("a name whose key would look like an auxiliary key is refused") {
  CHECK(refused("", "{lock:job}:fence"));
  CHECK(refused("", "{lock:job}:waiters"));
  CHECK(refused("lock:", "{a}b:fence"));
  CHECK(refused("{lock}", "x:fence"));
  CHECK(refused("", "{}x}:fence"));  // the counter of "}x"
  CHECK(!refused("lock:", "job:fence"));
  CHECK(!refused("lock:", "{a}:fences"));
  CHECK(!refused("lock:", "{}:fence"));
  CHECK(!refused("", "a}{:waiters"));
  const auto key = make_lock_key("", LockName("{a\n}:fence"));
  CHECK(key.error().message.find("'{a\\x0a}:fence'") != std::string::npos);
}

TEST_CASE("no acceptable key is the fencing counter of another") {
  const std::string alphabet[] = {"{", "}", "a", ":fence"};
  std::vector<std::string> keys = {""};
  for (std::size_t first = 0, length = 0; length < 6; ++length) {
    const std::size_t last = keys.size();
    for (; first < last; ++first) {
      for (const std::string& letter : alphabet) keys.push_back(keys[first] + letter);
    }
  }
  REQUIRE(keys.size() == 5461);
  for (const std::string& key : keys) {
    if (key.empty() || refused("", key)) continue;
    CAPTURE(key);
    REQUIRE(refused("", fence_of(key)));
  }
}

TEST_CASE("a token tells its holder") {
  const Token token = make_token(kRun, core::Attempt(7), {"web-07", 4242, 1'700'000'000});
  CHECK(token.get() == kRun + ".7@web-07:4242:1700000000"s);
  const auto holder = parse_holder(token.get());
  REQUIRE(holder);
  CHECK(holder->host == "web-07");
  CHECK(holder->pid == 4242);
  CHECK(holder->since == 1'700'000'000);
}

TEST_CASE("a host may be called anything, but is printable afterwards") {
  const auto odd = parse_holder(kRun + ".1@a:b@c:1:2:3"s);
  REQUIRE(odd);
  CHECK(odd->host == "a:b@c:1");
  CHECK(parse_holder(kRun + ".1@\x1b[2J\n:1:2"s)->host == "\\x1b[2J\\x0a");
  CHECK(parse_holder(kRun + ".1@\0:1:2"s)->host == "\\x00");
  CHECK(parse_holder(kRun + ".1@"s + std::string(5000, 'h') + ":1:2")->host.size() == 255);
}

TEST_CASE("foreign texts have no holder") {
  const std::string run = kRun;
  for (const std::string& text : {""s,
                                  "x"s,
                                  run,
                                  run + ".1",
                                  run + ".1@",
                                  run + ".1@h",
                                  run + ".1@h:1",
                                  run + ".@h:1:2",
                                  run + "@h:1:2",
                                  run + ".1@:1:2",
                                  run + ".1@h:1:",
                                  run + ".1@h::2",
                                  run + ".1@h:0:2",
                                  run + ".1@h:-1:2",
                                  run + ".1@h:1:-2",
                                  run + ".1@h:1:2x",
                                  run + ".1@h:x:2",
                                  run + ".1@h: 1:2",
                                  run + ".1x@h:1:2",
                                  run + ".1@h:99999999999999999999:2",
                                  "0" + run + ".1@h:1:2",
                                  run.substr(1) + ".1@h:1:2",
                                  "X" + run.substr(1) + ".1@h:1:2",
                                  run + ":1@h:1:2",
                                  "b3BlbiBzZXNhbWUhISEhIQ=="s,
                                  "ADDED:2024-01-01@h:1:2"s}) {
    CAPTURE(text);
    CHECK(!parse_holder(text));
  }
}

}  // namespace
}  // namespace redlock::redis
