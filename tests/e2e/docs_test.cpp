// README, man page and --help name the same options.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/lock_run.h"
#include "support/temp_dir.h"

TEST_SUITE_BEGIN("documents");

namespace redlock::test {
namespace {

using Names = std::set<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// `-n` or `--name` at the beginning of a word; empty when there is none.
std::string option_at(std::string_view word) {
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  if (dashes < 1 || dashes > 2) return {};
  std::size_t end = dashes;
  while (end < word.size() && (std::isalnum(static_cast<unsigned char>(word[end])) != 0 ||
                               (dashes == 2 && word[end] == '-'))) {
    ++end;
  }
  return end == dashes ? std::string() : std::string(word.substr(0, end));
}

struct Help {
  Names options;
  Names with_value;
};

/// What --help offers: its lines `  -a,--long VALUE   meaning`, and the -c of its synopsis.
Help read_help() {
  const Ending ending = redlock({"--help"}).run();
  REQUIRE_MESSAGE(ending.how == exit_with(0), ending.err);
  Help help;
  for (const std::string& line : lines_of(ending.out)) {
    if (contains(line, " NAME -c ")) help.options.insert("-c");
    if (!line.starts_with("  -")) continue;
    const std::vector<std::string> words = words_of(line);
    const bool has_value = words.size() > 1 && words[1].size() > 0 &&
                           std::all_of(words[1].begin(), words[1].end(),
                                       [](unsigned char c) { return std::isupper(c) != 0; });
    std::istringstream spellings(words[0]);
    for (std::string name; std::getline(spellings, name, ',');) {
      help.options.insert(option_at(name));
      if (has_value) help.with_value.insert(option_at(name));
    }
  }
  REQUIRE(help.options.size() > 20);
  REQUIRE(help.with_value.size() > 10);
  return help;
}

std::string document(const std::string& name) {
  std::string text = read_file(std::string(RR_SOURCE_DIR) + "/" + name);
  REQUIRE_MESSAGE(!text.empty(), name);
  return text;
}

/// Adds the options of each call of redlock-run in a line of an example.
void add_options_of_calls(const std::string& line, const Help& help, Names& found) {
  const std::vector<std::string> words = words_of(line);
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] != "redlock-run" && !words[at].ends_with("/redlock-run")) continue;
    while (at + 1 < words.size() && !option_at(words[at + 1]).empty()) {
      const std::string option = option_at(words[++at]);
      found.insert(option);
      if (help.with_value.count(option) > 0 && !contains(words[at], "=")) ++at;
    }
    // NAME; what follows is COMMAND's, but for -c.
    if (at + 2 < words.size() && words[at + 2] == "-c") found.insert("-c");
  }
}

/// Every `.Fl` of the source, and the calls in its examples.
Names options_in_man_page(const Help& help) {
  Names found;
  for (const std::string& line : lines_of(document("man/redlock-run.1"))) {
    add_options_of_calls(line, help, found);
    if (!line.starts_with(".")) continue;
    const std::vector<std::string> words = words_of(line);
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
      // `.Fl -` alone is the `--` before COMMAND.
      if (words[at] != "Fl" && words[at] != ".Fl") continue;
      if (words[at + 1] != "-") found.insert(option_at("-" + words[at + 1]));
    }
  }
  return found;
}

/// Every code span that begins with an option, and the calls in the examples.
Names options_in_readme(const Help& help) {
  Names found;
  bool fenced = false;
  std::string prose;
  for (const std::string& line : lines_of(document("README.md"))) {
    if (line.starts_with("```")) fenced = !fenced;
    add_options_of_calls(line, help, found);
    if (!fenced && !line.starts_with("    ") && !line.starts_with("```")) prose += line + '\n';
  }
  REQUIRE_FALSE(fenced);
  std::istringstream pieces(prose);
  bool code = false;
  for (std::string piece; std::getline(pieces, piece, '`'); code = !code) {
    if (code && !option_at(piece).empty()) found.insert(option_at(piece));
    if (code && contains(piece, "redlock-run ")) add_options_of_calls(piece, help, found);
  }
  return found;
}

void check_same(const Names& documented, const Names& offered) {
  for (const std::string& option : offered) {
    CHECK_MESSAGE(documented.count(option) == 1, "not documented: " << option);
  }
  for (const std::string& option : documented) {
    CHECK_MESSAGE(offered.count(option) == 1, "no such option: '" << option << "'");
  }
}

TEST_CASE("the man page documents the options that there are") {
  const Help help = read_help();
  check_same(options_in_man_page(help), help.options);
}

TEST_CASE("the README documents the options that there are") {
  const Help help = read_help();
  check_same(options_in_readme(help), help.options);
}

TEST_CASE("README and man page list the exit statuses that --help lists") {
  const Ending ending = redlock({"--help"}).run();
  const std::size_t begin = ending.out.find("Exit status: ");
  REQUIRE(begin != std::string::npos);
  const std::string man = document("man/redlock-run.1");
  const std::string readme = document("README.md");
  int seen = 0;
  for (const std::string& word : words_of(ending.out.substr(begin))) {
    if (word.find_first_not_of("0123456789") != std::string::npos) continue;
    ++seen;
    CHECK_MESSAGE(contains(man, "\n.It " + word + "\n"), word);
    const bool listed = contains(readme, "\n| " + word + " |") ||
                        contains(readme, "\n| " + word + ", ") ||
                        contains(readme, ", " + word + " |");
    CHECK_MESSAGE(listed, word);
  }
  CHECK(seen >= 11);
}

}  // namespace
}  // namespace redlock::test

TEST_SUITE_END();
