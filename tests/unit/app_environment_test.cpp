#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/environment.h"

TEST_SUITE_BEGIN("app.environment");

namespace redlock::app {
namespace {

using namespace std::string_literals;
using Words = std::vector<std::string>;

/// `words` as the kernel hands them over: writable, ended by nullptr.
class Block {
 public:
  explicit Block(Words words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  char** pointers() { return pointers_.data(); }
  int count() const { return static_cast<int>(words_.size()); }
  /// Whole buffers, what stands after a zero byte included.
  const Words& words() const { return words_; }

 private:
  Words words_;
  std::vector<char*> pointers_;
};

const LockFacts kFacts{LockName("night ly"), LockKey("lock:night ly"), Token("id.1@h:2:3"),
                       FencingToken(18'446'744'073'709'551'615U), Duration::seconds(30)};

const Words kOurs = {"REDLOCK_NAME=night ly", "REDLOCK_KEY=lock:night ly",
                     "REDLOCK_TOKEN=id.1@h:2:3", "REDLOCK_FENCE=18446744073709551615",
                     "REDLOCK_TTL_MS=30000"};

/// What COMMAND gets beside the variables about its lock.
Words inherited(const Words& given) {
  Block block(given);
  Words result = command_environment(block.pointers(), kFacts);
  REQUIRE(result.size() >= kOurs.size());
  const auto ours = result.end() - static_cast<std::ptrdiff_t>(kOurs.size());
  CHECK(std::equal(ours, result.end(), kOurs.begin()));
  result.erase(ours, result.end());
  return result;
}

std::string servers_for_command(const std::string& urls) {
  const Words result = inherited({"REDLOCK_RUN_REDIS=" + urls});
  REQUIRE(result.size() == 1);
  REQUIRE(result[0].starts_with("REDLOCK_RUN_REDIS="));
  return result[0].substr(18);
}

std::string hidden_argument(const std::string& argument) {
  Block arguments({"redlock-run", argument});
  Block environment({});
  hide_passwords(arguments.count(), arguments.pointers(), environment.pointers());
  return arguments.words()[1];
}

TEST_CASE("COMMAND keeps every other variable, byte for byte and in its order") {
  const Words given = {"PATH=/bin",
                       "EMPTY=",
                       "A=b=c",
                       "NOEQUALS",
                       "",
                       "REDISCLI_AUTH=s",
                       "REDLOCK_RUN_TTL=1m",
                       "REDLOCK_SLOT=2",
                       "X=redis://u:p@h",
                       "NOTIFY_SOCKETS=1"};
  CHECK(inherited(given) == given);
}

TEST_CASE("secrets, notifications and the facts of an outer lock are taken out") {
  CHECK(inherited({"REDLOCK_RUN_PASSWORD=s", "NOTIFY_SOCKET=/run/x", "WATCHDOG_USEC=1",
                   "WATCHDOG_PID=2", "REDLOCK_NAME=outer", "REDLOCK_KEY=outer",
                   "REDLOCK_TOKEN=outer", "REDLOCK_FENCE=1", "REDLOCK_TTL_MS=1", "HOME=/"}) ==
        Words{"HOME=/"});
}

TEST_CASE("every password in REDLOCK_RUN_REDIS is cut out, and nothing else") {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"redis://h:6379", "redis://h:6379"},
      {"redis://h:6379/3", "redis://h:6379/3"},
      {"redis://user@h:6379", "redis://user@h:6379"},
      {"redis://user:pw@h:6379/3", "redis://user@h:6379/3"},
      {"redis://:pw@h", "redis://@h"},
      {"redis://user:@h", "redis://user@h"},
      {"redis://user:p:w@h", "redis://user@h"},
      {"redis://user:p@w@h", "redis://user@h"},
      {"redis://user:p@w:x@[::1]:6379", "redis://user@[::1]:6379"},
      {"redis://user@[::1]:6379", "redis://user@[::1]:6379"},
      {"redis://[::1]:6379", "redis://[::1]:6379"},
      {"unix://user:pw@/run/r.sock?db=1", "unix://user@/run/r.sock?db=1"},
      {"unix:///run/r.sock", "unix:///run/r.sock"},
      {"redis://a:1@h1 redis://h2 redis://b:22@h3:7/1 unix://:3@/s",
       "redis://a@h1 redis://h2 redis://b@h3:7/1 unix://@/s"},
      {"  redis://a:1@h1   redis://b:2@h2 ", "  redis://a@h1   redis://b@h2 "},
      {"garbage:x@y", "garbage:x@y"},
  };
  for (const auto& [urls, left] : rows) {
    const std::string given = urls;
    CAPTURE(given);
    CHECK(servers_for_command(given) == left);
  }
}

TEST_CASE("an '@' or ':' in the path of a socket is none of a password") {
  CHECK(servers_for_command("unix:///run/a:b@c.sock") == "unix:///run/a:b@c.sock");
  CHECK(servers_for_command("unix://u:pw@/run/x@y.sock") == "unix://u@/run/x@y.sock");
  CHECK(hidden_argument("unix:///run/a:b@c.sock") == "unix:///run/a:b@c.sock");
}

TEST_CASE("LISTEN_PID gets room for COMMAND's pid if it names this process") {
  const std::string mine = "LISTEN_PID=" + std::to_string(::getpid());
  Block block({"A=1", mine, "B=2"});
  Words environment = command_environment(block.pointers(), kFacts);
  REQUIRE(environment.size() == 3 + kOurs.size());
  CHECK(environment[1].size() == 11 + 12);
  CHECK(std::string(environment[1].c_str()) == mine);
  char* const place = find_listen_pid(environment);
  REQUIRE(place == environment[1].data() + 11);
  std::snprintf(place, 12, "%d", 2'147'483'647);
  CHECK(std::string(environment[1].c_str()) == "LISTEN_PID=2147483647");
  CHECK(environment[2] == "B=2");
}

TEST_CASE("a LISTEN_PID that is about somebody else is left alone") {
  for (const std::string& value : {"1"s, ""s, std::to_string(::getpid()) + "0", "x"s,
                                   "00"s.append(std::to_string(::getpid()))}) {
    CAPTURE(value);
    Words environment =
        inherited({"LISTEN_PID=" + value, "XLISTEN_PID=" + std::to_string(::getpid())});
    CHECK(environment[0] == "LISTEN_PID=" + value);
    CHECK(find_listen_pid(environment) == nullptr);
  }
}

TEST_CASE("passwords in arguments are overwritten in place, at their length") {
  CHECK(hidden_argument("redis://user:secret@h:1/2") == "redis://user:******@h:1/2");
  CHECK(hidden_argument("-rredis://:secret@h") == "-rredis://:******@h");
  CHECK(hidden_argument("--redis=redis://u:a@b:c@h") == "--redis=redis://u:*****@h");
  CHECK(hidden_argument("redis://a:1@h redis://b:22@h") == "redis://a:*@h redis://b:**@h");
  CHECK(hidden_argument("redis://u:@h") == "redis://u:@h");
  for (const char* const harmless :
       {"", "-n", "job", "redis://h:6379", "redis://u@h:1", "user:pw@host", "a b c", "://", "@:"}) {
    CAPTURE(std::string(harmless));
    CHECK(hidden_argument(harmless) == harmless);
  }
}

TEST_CASE("passwords in the environment are overwritten in place, whole") {
  Block arguments({"redlock-run"});
  Block environment({"REDLOCK_RUN_PASSWORD=secret", "REDLOCK_RUN_REDIS=redis://u:pw@h redis://h2",
                     "REDISCLI_AUTH=theirs", "X=redis://u:pw@h", "PATH=/bin"});
  hide_passwords(arguments.count(), arguments.pointers(), environment.pointers());
  CHECK(environment.words() == Words{"REDLOCK_RUN_PASSWORD="s + std::string(6, '\0'),
                                     "REDLOCK_RUN_REDIS=redis://u:**@h redis://h2",
                                     "REDISCLI_AUTH=theirs", "X=redis://u:pw@h", "PATH=/bin"});
}

TEST_CASE("what was hidden is cut out for COMMAND just the same") {
  Block arguments({});
  Block environment({"REDLOCK_RUN_REDIS=redis://u:pw@h", "REDLOCK_RUN_PASSWORD=x", "A=1"});
  hide_passwords(arguments.count(), arguments.pointers(), environment.pointers());
  Words result = command_environment(environment.pointers(), kFacts);
  result.resize(2);
  CHECK(result == Words{"REDLOCK_RUN_REDIS=redis://u@h", "A=1"});
}

TEST_CASE("the program's own name is not searched for passwords, and none is needed") {
  Block arguments({"redis://u:pw@h"});
  Block environment({});
  hide_passwords(arguments.count(), arguments.pointers(), environment.pointers());
  hide_passwords(0, environment.pointers(), environment.pointers());
  CHECK(arguments.words()[0] == "redis://u:pw@h");
}

}  // namespace
}  // namespace redlock::app
