#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"

TEST_SUITE_BEGIN("app.command_line");

namespace redlock::app {
namespace {

using Words = std::vector<std::string>;

/// -n, -q, --quiet are flags, -r, --redis, --prefix take a value.
OptionKind kind_of(const std::string& option) {
  for (const char* const flag : {"-n", "-q", "--quiet"}) {
    if (option == flag) return OptionKind::flag;
  }
  for (const char* const valued : {"-r", "--redis", "--prefix"}) {
    if (option == valued) return OptionKind::takes_value;
  }
  return OptionKind::unknown;
}

struct Row {
  const char* why;
  Words args;
  Words options;
  Words values;
  std::optional<std::string> name;
  Words rest;
};

const Row kRows[] = {
    {"nothing at all", {}, {}, {}, std::nullopt, {}},
    {"NAME alone", {"job"}, {}, {}, "job", {}},
    {"NAME and COMMAND", {"job", "true", "x"}, {}, {}, "job", {"true", "x"}},
    {"a flag", {"-n", "job", "true"}, {"-n"}, {}, "job", {"true"}},
    {"a cluster of flags", {"-nq", "job"}, {"-n", "-q"}, {}, "job", {}},
    {"the same flag often", {"-nnn", "job"}, {"-n", "-n", "-n"}, {}, "job", {}},
    {"a value of its own", {"-r", "URL", "job"}, {"-r", "0"}, {"URL"}, "job", {}},
    {"a value on the letter", {"-rURL", "job"}, {"-r", "0"}, {"URL"}, "job", {}},
    {"a value behind a cluster", {"-nrURL", "job"}, {"-n", "-r", "0"}, {"URL"}, "job", {}},
    {"a value after a cluster", {"-nr", "URL", "job"}, {"-n", "-r", "0"}, {"URL"}, "job", {}},
    {"letters of a value are no flags", {"-rnq", "job"}, {"-r", "0"}, {"nq"}, "job", {}},
    {"an equals sign after a letter is the value's", {"-r=x", "j"}, {"-r", "0"}, {"=x"}, "j", {}},
    {"a long option", {"--redis", "URL", "job"}, {"--redis", "0"}, {"URL"}, "job", {}},
    {"a long option with =", {"--redis=URL", "job"}, {"--redis", "0"}, {"URL"}, "job", {}},
    {"only the first = divides", {"--prefix=a=b", "job"}, {"--prefix", "0"}, {"a=b"}, "job", {}},
    {"an empty value with =", {"--prefix=", "job"}, {"--prefix", "0"}, {""}, "job", {}},
    {"an empty value of its own", {"--prefix", "", "job"}, {"--prefix", "0"}, {""}, "job", {}},
    {"a value that looks like an option", {"-r", "-n", "job"}, {"-r", "0"}, {"-n"}, "job", {}},
    {"-- as a value", {"--prefix", "--", "job"}, {"--prefix", "0"}, {"--"}, "job", {}},
    {"brackets in values",
     {"--prefix", "[x]", "-r", "redis://[::1]:6379", "job"},
     {"--prefix", "0", "-r", "1"},
     {"[x]", "redis://[::1]:6379"},
     "job",
     {}},
    {"a value missing at the end", {"-n", "-r"}, {"-n", "-r"}, {}, std::nullopt, {}},
    {"a long value missing at the end", {"--redis"}, {"--redis"}, {}, std::nullopt, {}},
    {"a flag with = is left whole", {"--quiet=1", "job"}, {"--quiet=1"}, {}, "job", {}},
    {"unknown long options take nothing", {"--zz", "job"}, {"--zz"}, {}, "job", {}},
    {"unknown ones with = are left whole", {"--zz=1", "job"}, {"--zz=1"}, {}, "job", {}},
    {"unknown letters are flags", {"-Zn", "job"}, {"-Z", "-n"}, {}, "job", {}},
    {"three dashes", {"---", "job"}, {"---"}, {}, "job", {}},
    {"-- before NAME", {"-n", "--", "-n", "true"}, {"-n"}, {}, "-n", {"true"}},
    {"-- before NAME, twice", {"--", "--", "true"}, {}, {}, "--", {"true"}},
    {"-- and nothing more", {"--"}, {}, {}, std::nullopt, {}},
    {"- is a NAME", {"-", "true"}, {}, {}, "-", {"true"}},
    {"an empty NAME is a NAME", {"", "true"}, {}, {}, "", {"true"}},
    {"NAME with brackets", {"[0-9]", "true"}, {}, {}, "[0-9]", {"true"}},
    {"options after NAME are COMMAND's",
     {"job", "-n", "--redis=x", "-r", "y"},
     {},
     {},
     "job",
     {"-n", "--redis=x", "-r", "y"}},
    {"COMMAND byte for byte",
     {"job", "--", "[0-9]", "", "--", "--bogus", "a\xff\n"},
     {},
     {},
     "job",
     {"--", "[0-9]", "", "--", "--bogus", "a\xff\n"}},
    {"digits as values do not mix with indexes",
     {"-r", "7", "-r", "5", "job"},
     {"-r", "0", "-r", "1"},
     {"7", "5"},
     "job",
     {}},
};

TEST_CASE("the command line is split at NAME, every value in a place of its own") {
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.why));
    const CommandLine line = split_command_line(row.args, kind_of);
    CHECK(line.options == row.options);
    CHECK(line.values == row.values);
    CHECK(line.name == row.name);
    CHECK(line.rest == row.rest);
  }
}

TEST_CASE("what follows NAME never reaches the options, whatever it is") {
  const Words tails = {"-n", "--redis", "--redis=x", "--", "-", "", "[x]", "--zz"};
  for (const std::string& first : tails) {
    for (const std::string& second : tails) {
      CAPTURE(first);
      CAPTURE(second);
      const CommandLine line = split_command_line({"-q", "job", first, second}, kind_of);
      CHECK(line.options == Words{"-q"});
      CHECK(line.values.empty());
      CHECK(line.rest == Words{first, second});
    }
  }
}

}  // namespace
}  // namespace redlock::app
