#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/options.h"

TEST_SUITE_BEGIN("app.options_refusal");

namespace redlock::app {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Variables variables;

const char* look_up(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text.append("'").append(word).append("' ");
  return text;
}

/// How `args` are refused; fails the test when they are not.
UsageError refusal(const Words& args, const Variables& environment = {}) {
  const std::string command_line = joined(args);
  CAPTURE(command_line);
  variables = environment;
  const auto result = parse_options(args, look_up);
  REQUIRE(std::holds_alternative<UsageError>(result));
  const UsageError error = std::get<UsageError>(result);
  CHECK(!error.message.empty());
  return error;
}

UsageError refused_option(Words args, const Variables& environment = {}) {
  args.insert(args.end(), {"job", "true"});
  return refusal(args, environment);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct BadValue {
  const char* option;
  const char* variable;
  const char* value;
};

const BadValue kBadValues[] = {
    {"--redis", "REDLOCK_RUN_REDIS", "localhost:6379"},
    {"--redis", "REDLOCK_RUN_REDIS", "redis://"},
    {"--ttl", "REDLOCK_RUN_TTL", "-1"},
    {"--ttl", "REDLOCK_RUN_TTL", "soon"},
    {"--ttl", "REDLOCK_RUN_TTL", "99999999999999999999"},
    {"--node-timeout", "REDLOCK_RUN_NODE_TIMEOUT", "1x"},
    {"--wait", "REDLOCK_RUN_WAIT", "5 s"},
    {"--conflict-exit-code", "REDLOCK_RUN_CONFLICT_EXIT_CODE", "256"},
    {"--conflict-exit-code", "REDLOCK_RUN_CONFLICT_EXIT_CODE", "-1"},
    {"--conflict-exit-code", "REDLOCK_RUN_CONFLICT_EXIT_CODE", "7x"},
    {"--conflict-exit-code", "REDLOCK_RUN_CONFLICT_EXIT_CODE", "99999999999"},
    {"--max-run", "REDLOCK_RUN_MAX_RUN", "1h30"},
    {"--signal", "REDLOCK_RUN_SIGNAL", "TERMINATE"},
    {"--signal", "REDLOCK_RUN_SIGNAL", "0"},
    {"--kill-after", "REDLOCK_RUN_KILL_AFTER", "."},
    {"--kill-margin", "REDLOCK_RUN_KILL_MARGIN", "1.5.5"},
};

TEST_CASE("a bad value is a usage error that names its option or its variable") {
  for (const BadValue& bad : kBadValues) {
    CAPTURE(std::string(bad.option));
    CAPTURE(std::string(bad.value));
    const UsageError by_flag = refused_option({bad.option, bad.value});
    CHECK(by_flag.code == 64);
    CHECK(contains(by_flag.message, bad.option));
    CHECK(!contains(by_flag.message, bad.variable));
    const UsageError by_environment = refused_option({}, {{bad.variable, bad.value}});
    CHECK(by_environment.code == 64);
    CHECK(contains(by_environment.message, bad.variable));
  }
}

TEST_CASE("an empty value of a flag is refused where it means nothing") {
  for (const char* const option :
       {"--redis", "--ttl", "--node-timeout", "--wait", "--max-run", "--conflict-exit-code",
        "--signal", "--kill-after", "--kill-margin"}) {
    CAPTURE(std::string(option));
    CHECK(refused_option({option, ""}).code == 64);
    CHECK(contains(refused_option({option, ""}).message, option));
    CHECK(refused_option({std::string(option) + "="}).code == 64);
  }
}

TEST_CASE("a variable for a flag is yes or no") {
  for (const char* const name : {"NONBLOCK", "QUIET", "VERBOSE", "NO_FORK"}) {
    const std::string variable = "REDLOCK_RUN_" + std::string(name);
    CAPTURE(variable);
    for (const char* const value : {"maybe", "3", "-1", "TRUEISH", " 1"}) {
      const UsageError error = refused_option({}, {{variable, value}});
      CHECK(error.code == 64);
      CHECK(contains(error.message, variable));
    }
  }
  CHECK(refused_option({}, {{"REDLOCK_RUN_QUIET", "2"}}).code == 64);
}

TEST_CASE("-F is refused with the reason, by flag and by environment") {
  for (const UsageError& error :
       {refused_option({"-F"}), refused_option({"--no-fork"}), refused_option({"-nF"}),
        refused_option({}, {{"REDLOCK_RUN_NO_FORK", "1"}})}) {
    CHECK(error.code == 64);
    CHECK(contains(error.message, "-F"));
    CHECK(contains(error.message, "renew"));
  }
}

TEST_CASE("an unknown option is named as it was written, without its value") {
  const std::pair<Words, const char*> rows[] = {
      {{"--tll", "30s"}, "--tll"},
      {{"--tll=30s"}, "--tll"},
      {{"-Z"}, "-Z"},
      {{"-nZ"}, "-Z"},
      {{"-Z5"}, "-Z"},
      {{"--no-such"}, "--no-such"},
      {{"-n", "--redi", "x"}, "--redi"},
      {{"---"}, "---"},
      {{"-t"}, "-t"},
      {{"--Ttl", "1"}, "--Ttl"},
      {{"--t"}, "--t"},
      {{"-ttl", "3"}, "-t"},
  };
  for (const auto& [args, written] : rows) {
    const std::string name = written;
    CAPTURE(name);
    const UsageError error = refused_option(args);
    CHECK(error.code == 64);
    CHECK(contains(error.message, "unknown option " + name + ";"));
    CHECK(!contains(error.message, "30s"));
  }
}

TEST_CASE("an option whose value is missing is named") {
  const std::pair<const char*, const char*> rows[] = {
      {"-r", "--redis"},        {"--redis", "--redis"},         {"--ttl", "--ttl"},
      {"-w", "--wait"},         {"-k", "--kill-after"},         {"-nw", "--wait"},
      {"--prefix", "--prefix"}, {"-E", "--conflict-exit-code"},
  };
  for (const auto& [written, name] : rows) {
    const std::string option = written;
    CAPTURE(option);
    const UsageError error = refusal({option});
    CHECK(error.code == 64);
    CHECK(contains(error.message, name));
  }
}

TEST_CASE("a flag takes no value but the one it stands for") {
  for (const char* const flag : {"--quiet=1", "--quiet=false", "--nonblock=x", "--verbose=2",
                                 "--exclusive=0", "--no-fork=0"}) {
    CAPTURE(std::string(flag));
    CHECK(refused_option({flag}).code == 64);
    CHECK(contains(refused_option({flag}).message, "flag"));
  }
}

TEST_CASE("without NAME or COMMAND there is nothing to do, and the message says what is missing") {
  for (const Words& args : {Words{}, Words{"-n"}, Words{"--"}, Words{"-r", "redis://h"}}) {
    CHECK(refusal(args).code == 64);
    CHECK(contains(refusal(args).message, "NAME"));
  }
  for (const Words& args :
       {Words{"job"}, Words{"job", "--"}, Words{"job", ""}, Words{"job", "--", ""}}) {
    CHECK(refusal(args).code == 64);
    CHECK(contains(refusal(args).message, "COMMAND"));
  }
}

TEST_CASE("a ttl out of range is a usage error that names the range") {
  for (const char* const ttl : {"0", "499ms", "31d", "inf"}) {
    CAPTURE(std::string(ttl));
    const UsageError error = refused_option({"--ttl", ttl});
    CHECK(error.code == 64);
    CHECK(contains(error.message, "ttl"));
    CHECK(contains(error.message, "500ms"));
  }
}

TEST_CASE("timings that cannot work together are a configuration error with their sum") {
  const Words rows[] = {{"--node-timeout", "10s"},
                        {"--node-timeout", "inf"},
                        {"--ttl", "3s", "--node-timeout", "1s"},
                        {"-k", "20s"},
                        {"-k", "inf"},
                        {"--kill-margin", "1h"},
                        {"--ttl", "1s", "-k", "5s"}};
  for (const Words& args : rows) {
    const std::string command_line = joined(args);
    CAPTURE(command_line);
    CHECK(refused_option(args).code == 78);
  }
  CHECK(contains(refused_option({"--node-timeout", "10s"}).message, "--node-timeout"));
  CHECK(contains(refused_option({"--node-timeout", "10s"}).message, "ttl/3 = 10.0s"));
  const std::string sum = refused_option({"-k", "20s"}).message;
  CAPTURE(sum);
  for (const char* const part : {"--ttl 30.0s", "--kill-after 20.0s", "--kill-margin 1.5s", "10.0s",
                                 "1.5s", "drift 302ms", "34.8s"}) {
    CAPTURE(std::string(part));
    CHECK(contains(sum, part));
  }
}

TEST_CASE("the same server twice is refused as configuration, however it is spelled") {
  const std::pair<const char*, const char*> twins[] = {
      {"redis://h:7", "redis://h:7"},
      {"redis://h", "redis://H.:6379/3"},
      {"redis://u:secret@h", "redis://h"},
      {"redis://127.0.0.1", "redis://localhost"},
      {"redis://[::1]:7", "redis://[0:0::1]:7"},
      {"unix:///run/r.sock", "unix:///run/r.sock?db=2"},
  };
  for (const auto& [one, two] : twins) {
    CAPTURE(std::string(one));
    const UsageError error = refused_option({"-r", one, "-r", "redis://other", "-r", two});
    CHECK(error.code == 78);
    CHECK(contains(error.message, "once"));
    CHECK_FALSE(contains(error.message, "secret"));
    const std::string both = std::string(one) + " " + two;
    CHECK(refused_option({}, {{"REDLOCK_RUN_REDIS", both.c_str()}}).code == 78);
  }
}

TEST_CASE("the first mistake is the one that is told") {
  CHECK(contains(refused_option({"--max-run", "x", "--ttl", "y"}).message, "--ttl"));
  CHECK(contains(refusal({"-F", ""}).message, "-F"));
}

TEST_CASE("no error text contains a password, wherever it was given") {
  const std::string secret = "hunter2";
  const Words args[] = {
      {"-r", "redis://u:hunter2@"},
      {"-rredis://u:hunter2@h:99999"},
      {"--redis=redis://u:hunter2@h/x"},
      {"--redis=rediss://u:hunter2@h"},
      {"--redis=redis+sentinel://u:hunter2@h/m"},
      {"-r", "redis://u:hunter2%zz@h"},
      {"-r", "redis://u:hun/ter2hunter2@h"},
      {"-r", "u:hunter2@h"},
      {"-r", "unix://u:hunter2@run"},
      {"-r", "redis://u:hunter2@a", "-r", "redis://u:hunter2@a/1"},
      {"--reddis", "redis://u:hunter2@h"},
      {"--reddis=redis://u:hunter2@h"},
      {"--quiet=redis://u:hunter2@h"},
      {"-r", "redis://u:hunter2@h", "--ttl", "x"},
      {"-r", "redis://u:hunter2@h", "-k", "20s"},
  };
  for (const Words& each : args) CHECK(!contains(refused_option(each).message, secret));
  const Variables environments[] = {
      {{"REDLOCK_RUN_REDIS", "redis://u:hunter2@h:0"}},
      {{"REDLOCK_RUN_REDIS", "redis://u:hunter2@h redis://u:hunter2@h"}},
      {{"REDLOCK_RUN_REDIS", "redis://u:a hunter2@h"}},
      {{"REDLOCK_RUN_PASSWORD", secret}, {"REDLOCK_RUN_TTL", "x"}},
      {{"REDISCLI_AUTH", secret}, {"REDLOCK_RUN_REDIS", "h"}},
  };
  for (const Variables& each : environments) {
    CHECK(!contains(refused_option({}, each).message, secret));
  }
}

}  // namespace
}  // namespace redlock::app
