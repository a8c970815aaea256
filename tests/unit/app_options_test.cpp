#include <doctest/doctest.h>
#include <signal.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/options.h"

TEST_SUITE_BEGIN("app.options");

namespace redlock::app {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;
using Outcome = std::variant<Options, Information, UsageError>;

Variables variables;

const char* look_up(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

Outcome outcome(const Words& args, const Variables& environment = {}) {
  variables = environment;
  return parse_options(args, look_up);
}

/// The arguments and then a NAME and a COMMAND.
Words with_job(Words args) {
  args.insert(args.end(), {"job", "true"});
  return args;
}

/// What `args` mean; fails the test when they are refused.
Options good(const Words& args, const Variables& environment = {}) {
  const Outcome result = outcome(args, environment);
  const auto* mistake = std::get_if<UsageError>(&result);
  REQUIRE_MESSAGE(mistake == nullptr, mistake->message);
  REQUIRE(std::holds_alternative<Options>(result));
  return std::get<Options>(result);
}

Options set(const Words& args, const Variables& environment = {}) {
  return good(with_job(args), environment);
}

/// How `args` are refused; fails the test when they are not.
UsageError refusal(const Words& args, const Variables& environment = {}) {
  const Outcome result = outcome(args, environment);
  REQUIRE(std::holds_alternative<UsageError>(result));
  return std::get<UsageError>(result);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("without options everything has its documented default") {
  const Options options = good({"job", "true"});
  CHECK(options.name.get() == "job");
  CHECK(options.key.get() == "lock:job");
  REQUIRE(options.servers.size() == 1);
  CHECK(options.servers[0].display() == "127.0.0.1:6379");
  CHECK(!options.servers[0].has_credentials());
  CHECK(options.timing.ttl == Duration::seconds(30));
  CHECK(options.timing.renew_interval == Duration::seconds(10));
  CHECK(options.timing.node_timeout == Duration::milliseconds(1500));
  CHECK(options.timing.kill_after == Duration::seconds(5));
  CHECK(options.timing.kill_margin == Duration::milliseconds(1500));
  CHECK(options.wait == Duration());
  CHECK(options.held_code == 75);
  CHECK(!options.kill_after_given);
  CHECK(options.stop_signal == SIGTERM);
  CHECK(options.max_run.is_infinite());
  CHECK(options.log_level == LogLevel::warning);
  CHECK(options.command == Words{"true"});
}

TEST_CASE("every option with a value is read from its flags") {
  CHECK(set({"-r", "redis://h:1"}).servers[0].display() == "h:1");
  CHECK(set({"-rredis://h:1"}).servers[0].display() == "h:1");
  CHECK(set({"--redis", "redis://h:1"}).servers[0].display() == "h:1");
  CHECK(set({"--redis=redis://h:1"}).servers[0].display() == "h:1");
  CHECK(set({"--prefix", "p/"}).key.get() == "p/job");
  CHECK(set({"--prefix="}).key.get() == "job");
  CHECK(set({"--prefix", ""}).key.get() == "job");
  CHECK(set({"--ttl", "1m"}).timing.ttl == Duration::seconds(60));
  CHECK(set({"--ttl=500ms"}).timing.ttl == Duration::milliseconds(500));
  CHECK(set({"--node-timeout", "1s"}).timing.node_timeout == Duration::seconds(1));
  CHECK(set({"-w", "5"}).wait == Duration::seconds(5));
  CHECK(set({"-w5"}).wait == Duration::seconds(5));
  CHECK(set({"--wait=inf"}).wait.is_infinite());
  CHECK(set({"-E", "0"}).held_code == 0);
  CHECK(set({"--conflict-exit-code", "255"}).held_code == 255);
  CHECK(set({"--max-run", "2h"}).max_run == Duration::seconds(7200));
  CHECK(set({"--max-run", "0"}).max_run.is_infinite());
  CHECK(set({"--signal", "INT"}).stop_signal == SIGINT);
  CHECK(set({"-k", "0"}).timing.kill_after == Duration());
  CHECK(set({"-k", "0"}).kill_after_given);
  CHECK(set({"--kill-after=2s"}).timing.kill_after == Duration::seconds(2));
  CHECK(set({"--kill-margin", "3s"}).timing.kill_margin == Duration::seconds(3));
}

TEST_CASE("every option with a value is read from the environment") {
  const std::pair<const char*, const char*> rows[] = {
      {"REDIS", "redis://h:1"}, {"PREFIX", "p/"},  {"TTL", "1m"},
      {"NODE_TIMEOUT", "1s"},   {"WAIT", "5"},     {"CONFLICT_EXIT_CODE", "9"},
      {"MAX_RUN", "2h"},        {"SIGNAL", "INT"}, {"KILL_AFTER", "2s"},
      {"KILL_MARGIN", "3s"}};
  Variables environment;
  for (const auto& [name, value] : rows) environment["REDLOCK_RUN_" + std::string(name)] = value;
  const Options options = set({}, environment);
  CHECK(options.servers[0].display() == "h:1");
  CHECK(options.key.get() == "p/job");
  CHECK(options.timing.ttl == Duration::seconds(60));
  CHECK(options.timing.node_timeout == Duration::seconds(1));
  CHECK(options.wait == Duration::seconds(5));
  CHECK(options.held_code == 9);
  CHECK(options.max_run == Duration::seconds(7200));
  CHECK(options.stop_signal == SIGINT);
  CHECK(options.timing.kill_after == Duration::seconds(2));
  CHECK(options.kill_after_given);
  CHECK(options.timing.kill_margin == Duration::seconds(3));
  CHECK(set({}, {{"REDLOCK_RUN_PREFIX", ""}}).key.get() == "job");
}

TEST_CASE("several servers are a quorum, by flags or in one variable") {
  const auto names = [](const Options& options) {
    Words all;
    for (const redis::Url& server : options.servers) all.push_back(server.display());
    return all;
  };
  const Words three = {"a:6379", "b:6379", "c:7"};
  CHECK(names(set({"-r", "redis://a", "--redis=redis://b", "-rredis://c:7"})) == three);
  CHECK(names(set({}, {{"REDLOCK_RUN_REDIS", " redis://a  redis://b redis://c:7 "}})) == three);
  CHECK(names(set({"-r", "redis://x"}, {{"REDLOCK_RUN_REDIS", "redis://a redis://b"}})) ==
        Words{"x:6379"});
  CHECK(set({"-r", "redis://:p1@a", "-r", "redis://b"}, {{"REDISCLI_AUTH", "p2"}})
            .servers[1]
            .password == "p2");
}

TEST_CASE("in a quorum of three and more a server must have been up for a ttl to vote") {
  const Words two = {"-r", "redis://a", "-r", "redis://b"};
  Words three = two;
  three.insert(three.end(), {"-r", "redis://c", "--ttl", "20s"});
  CHECK(set({}).min_uptime == Duration());
  CHECK(set(two).min_uptime == Duration());
  CHECK(set(three).min_uptime == Duration::seconds(20));
  CHECK(set({"--min-uptime", "3s"}).min_uptime == Duration::seconds(3));
  CHECK(set({}, {{"REDLOCK_RUN_MIN_UPTIME", "1m"}}).min_uptime == Duration::seconds(60));
  three.insert(three.end(), {"--min-uptime", "0"});
  CHECK(set(three).min_uptime == Duration());
}

TEST_CASE("a flag beats the environment, the last of several flags the others") {
  const Variables environment = {{"REDLOCK_RUN_REDIS", "redis://h1 redis://h2"},
                                 {"REDLOCK_RUN_PREFIX", "env:"},
                                 {"REDLOCK_RUN_TTL", "garbage"},
                                 {"REDLOCK_RUN_WAIT", "7"},
                                 {"REDLOCK_RUN_CONFLICT_EXIT_CODE", "7"},
                                 {"REDLOCK_RUN_SIGNAL", "INT"}};
  const Options options = set({"-r", "redis://flag", "--prefix", "flag:", "--ttl", "60", "-w", "1",
                               "-w", "2", "-E", "9", "--signal", "USR1", "--signal", "USR2"},
                              environment);
  CHECK(options.servers[0].display() == "flag:6379");
  CHECK(options.key.get() == "flag:job");
  CHECK(options.timing.ttl == Duration::seconds(60));
  CHECK(options.wait == Duration::seconds(2));
  CHECK(options.held_code == 9);
  CHECK(options.stop_signal == SIGUSR2);
  CHECK(set({"-r", "redis://h", "--ttl", "60"}, environment).key.get() == "env:job");
}

TEST_CASE("an empty variable is as good as none") {
  for (const char* const name : {"REDIS", "TTL", "WAIT", "CONFLICT_EXIT_CODE", "SIGNAL", "MAX_RUN",
                                 "NONBLOCK", "QUIET", "VERBOSE", "NO_FORK"}) {
    CAPTURE(std::string(name));
    const Options options = set({}, {{"REDLOCK_RUN_" + std::string(name), ""}});
    CHECK(options.servers.size() == 1);
    CHECK(options.timing.ttl == Duration::seconds(30));
    CHECK(options.log_level == LogLevel::warning);
  }
}

TEST_CASE("-v says more, -q less, by flag and by environment") {
  const std::string verbose = "REDLOCK_RUN_VERBOSE";
  const std::string quiet = "REDLOCK_RUN_QUIET";
  CHECK(set({"-v"}).log_level == LogLevel::info);
  CHECK(set({"--verbose"}).log_level == LogLevel::info);
  CHECK(set({"-vv"}).log_level == LogLevel::debug);
  CHECK(set({"-v", "-v", "-v"}).log_level == LogLevel::debug);
  CHECK(set({"-q"}).log_level == LogLevel::error);
  CHECK(set({"--quiet"}).log_level == LogLevel::error);
  CHECK(set({}, {{verbose, "1"}}).log_level == LogLevel::info);
  CHECK(set({}, {{verbose, "2"}}).log_level == LogLevel::debug);
  CHECK(set({"-v"}, {{verbose, "2"}}).log_level == LogLevel::info);
  for (const char* const on : {"1", "true", "yes", "on"}) {
    CHECK(set({}, {{quiet, on}}).log_level == LogLevel::error);
  }
  for (const char* const off : {"0", "false", "no", "off"}) {
    CHECK(set({}, {{quiet, off}}).log_level == LogLevel::warning);
    CHECK(set({}, {{verbose, off}}).log_level == LogLevel::warning);
  }
}

TEST_CASE("-n and -w contradict each other unless one of them is a flag alone") {
  const std::string nonblock = "REDLOCK_RUN_NONBLOCK";
  const std::string wait = "REDLOCK_RUN_WAIT";
  CHECK(set({"-n"}).wait == Duration());
  CHECK(set({"--nonblock"}).wait == Duration());
  CHECK(set({"-n", "-w", "0"}).wait == Duration());
  CHECK(set({"-n"}, {{wait, "5"}}).wait == Duration());
  CHECK(set({"-w", "5"}, {{nonblock, "1"}}).wait == Duration::seconds(5));
  CHECK(set({"-w", "5"}, {{nonblock, "0"}}).wait == Duration::seconds(5));
  CHECK(set({}, {{nonblock, "1"}}).wait == Duration());
  CHECK(set({}, {{nonblock, "1"}, {wait, "0"}}).wait == Duration());
  for (const auto& [args, environment] :
       std::vector<std::pair<Words, Variables>>{{{"-n", "-w", "5"}, {}},
                                                {{"-w5", "-n"}, {}},
                                                {{"-nw", "inf"}, {}},
                                                {{}, {{nonblock, "1"}, {wait, "5"}}}}) {
    const UsageError error = refusal(with_job(args), environment);
    CHECK(error.code == 64);
    CHECK(contains(error.message, "-n"));
    CHECK(contains(error.message, "-w"));
  }
}

TEST_CASE("brackets and other odd bytes in values arrive as they were given") {
  CHECK(set({"--prefix", "[x]"}).key.get() == "[x]job");
  CHECK(set({"--prefix=[a,b]"}).key.get() == "[a,b]job");
  CHECK(set({"--prefix", "-n"}).key.get() == "-njob");
  CHECK(set({"--prefix", "--"}).key.get() == "--job");
  CHECK(set({"--prefix", "{}"}).key.get() == "{}job");
  CHECK(set({"--prefix", "a\nb\xff"}).key.get() == "a\nb\xffjob");
  CHECK(set({"--prefix", "0", "--prefix", "1"}).key.get() == "1job");
  CHECK(set({"-r", "redis://[::1]:6379"}).servers[0].display() == "[::1]:6379");
  CHECK(set({}, {{"REDLOCK_RUN_REDIS", "redis://[::1]:7"}}).servers[0].display() == "[::1]:7");
}

TEST_CASE("NAME is any text of 1 to 1024 bytes") {
  for (const std::string& name :
       {std::string("-"), std::string("a b"), std::string("/etc/x"), std::string("%n{}*[0-9]"),
        std::string("n\xc3\xa4ghtly"), std::string("\xff\x01"), std::string(1024, 'x')}) {
    CAPTURE(std::string(name));
    const Options options = good({name, "true"});
    CHECK(options.name.get() == name);
    CHECK(options.key.get() == "lock:" + name);
  }
  CHECK(good({"--", "-n", "true"}).name.get() == "-n");
  CHECK(refusal({"", "true"}).code == 64);
  CHECK(contains(refusal({"", "true"}).message, "NAME"));
  CHECK(refusal({std::string(1025, 'x'), "true"}).code == 64);
  CHECK(contains(refusal({std::string(1025, 'x'), "true"}).message, "1024"));
}

TEST_CASE("a NAME whose key would look like one beside a lock is refused") {
  CHECK(refusal({"{a}:fence", "true"}).code == 64);
  CHECK(refusal({"{a}:waiters", "true"}).code == 64);
  CHECK(refusal({"--prefix", "{a}", "x:fence", "true"}).code == 64);
  CHECK(good({"a:fence", "true"}).key.get() == "lock:a:fence");
}

TEST_CASE("COMMAND is taken byte for byte after one optional --") {
  CHECK(good({"job", "--", "true"}).command == Words{"true"});
  CHECK(good({"job", "--", "--", "x"}).command == Words{"--", "x"});
  const Words odd = {"printf", "[0-9]", "--bogus", "", "--", "-n", "--ttl", "\xff\n"};
  Words args = {"-q", "job"};
  args.insert(args.end(), odd.begin(), odd.end());
  CHECK(good(args).command == odd);
  CHECK(good(args).timing.ttl == Duration::seconds(30));
  CHECK(good({"job", "--", "-c", "x"}).command == Words{"-c", "x"});
}

TEST_CASE("-c runs one text in the shell of the environment, else in /bin/sh") {
  CHECK(good({"job", "-c", "echo $X"}).command == Words{"/bin/sh", "-c", "echo $X"});
  CHECK(good({"job", "-c", "x"}, {{"SHELL", "/bin/zsh"}}).command == Words{"/bin/zsh", "-c", "x"});
  CHECK(good({"job", "-c", "x"}, {{"SHELL", ""}}).command == Words{"/bin/sh", "-c", "x"});
  CHECK(good({"job", "-c", ""}).command == Words{"/bin/sh", "-c", ""});
  for (const Words& args : {Words{"job", "-c"}, Words{"job", "-c", "a", "b"}}) {
    CHECK(refusal(args).code == 64);
    CHECK(contains(refusal(args).message, "-c"));
  }
}

TEST_CASE("flock's flags are accepted without effect") {
  for (const char* const flag : {"-x", "-e", "--exclusive", "-o", "--close", "-xo"}) {
    CAPTURE(std::string(flag));
    CHECK(set({flag}).command == Words{"true"});
  }
}

TEST_CASE("a password of the environment is for a URL that carries none") {
  const Variables both = {{"REDLOCK_RUN_PASSWORD", "ours"}, {"REDISCLI_AUTH", "theirs"}};
  CHECK(set({}, both).servers[0].password == "ours");
  CHECK(set({}, {{"REDISCLI_AUTH", "theirs"}}).servers[0].password == "theirs");
  CHECK(set({}, {{"REDLOCK_RUN_PASSWORD", ""}, {"REDISCLI_AUTH", "t"}}).servers[0].password == "t");
  CHECK(set({"-r", "redis://:url@h"}, both).servers[0].password == "url");
  const redis::Url named = set({"-r", "redis://user@h"}, both).servers[0];
  CHECK(named.user == "user");
  CHECK(named.password == "ours");
  CHECK(!set({}, {{"REDLOCK_RUN_PASSWORD", ""}}).servers[0].password);
}

TEST_CASE("help and version are asked for by flag and need nothing else") {
  for (const Words& args : {Words{"-h"}, Words{"--help"}, Words{"-n", "-h", "job", "true"}}) {
    const Outcome result = outcome(args);
    REQUIRE(std::holds_alternative<Information>(result));
    const std::string& text = std::get<Information>(result).text;
    for (const char* const part :
         {"NAME", "COMMAND", "--redis", "--prefix", "--ttl", "--node-timeout", "--nonblock",
          "--wait", "--conflict-exit-code", "--max-run", "--signal", "--kill-after",
          "--kill-margin", "--quiet", "--verbose", "REDLOCK_RUN_", "75", "122"}) {
      CAPTURE(std::string(part));
      CHECK(contains(text, part));
    }
  }
  for (const char* const flag : {"-V", "--version"}) {
    const Outcome result = outcome({flag});
    REQUIRE(std::holds_alternative<Information>(result));
    CHECK(std::get<Information>(result).text.starts_with("redlock-run "));
    CHECK(std::get<Information>(result).text.back() == '\n');
  }
  // After NAME they are COMMAND's.
  CHECK(good({"job", "true", "--help"}).command == Words{"true", "--help"});
}

}  // namespace
}  // namespace redlock::app
