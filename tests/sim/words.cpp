#include "sim/words.h"

#include <cstdlib>
#include <sstream>

namespace redlock::sim {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<std::int64_t> read_number(const std::string& word) {
  char* end = nullptr;
  const long long number = std::strtoll(word.c_str(), &end, 10);
  if (end == word.c_str() || (*end != '\0' && *end != '%' && *end != ',')) return std::nullopt;
  return number;
}

class Matcher {
 public:
  Matcher(const Words& words, std::size_t all_nodes) : words_(words), all_nodes_(all_nodes) {}

  std::optional<Captured> run(std::string_view pattern) {
    for (const std::string& want : words_of(pattern)) {
      if (!take(want)) return std::nullopt;
    }
    if (next_ != words_.size()) return std::nullopt;
    return captured_;
  }

 private:
  bool take(const std::string& want) {
    if (want == "...") {
      while (next_ < words_.size()) captured_.rest += words_[next_++] + " ";
      return true;
    }
    if (next_ == words_.size()) return false;
    if (want == "NODES") return take_nodes();
    std::string word = words_[next_++];
    if (word.back() == ',') word.pop_back();
    if (want == "HOST" || want == "HOST's") return take_host(want, word);
    if (want == "TIME") {
      const auto time = read_time(word);
      if (time) captured_.times.push_back(*time);
      return time.has_value();
    }
    if (want == "NUMBER") {
      const auto number = read_number(word);
      if (number) captured_.numbers.push_back(*number);
      return number.has_value();
    }
    for (const std::string& alternative : split(want, '|')) {
      if (alternative == word) return true;
    }
    return false;
  }

  bool take_host(const std::string& want, const std::string& word) {
    const bool owns = want == "HOST's";
    if (word.empty() || word.substr(1) != (owns ? "'s" : "")) return false;
    if (word[0] < 'a' || word[0] > 'z') return false;
    captured_.hosts.push_back(static_cast<std::size_t>(word[0] - 'a'));
    return true;
  }

  bool take_nodes() {
    if (next_ + 2 > words_.size()) return false;
    const std::string& first = words_[next_++];
    const std::string& second = words_[next_++];
    if (first == "every" && second == "node") {
      for (std::size_t i = 0; i < all_nodes_; ++i) captured_.nodes.push_back(i);
      return true;
    }
    if (first != "node" && first != "nodes") return false;
    for (const std::string& part : split(second, ',')) {
      const auto number = read_number(part);
      if (!number || *number < 1 || *number > static_cast<std::int64_t>(all_nodes_)) return false;
      captured_.nodes.push_back(static_cast<std::size_t>(*number - 1));
    }
    return true;
  }

  const Words& words_;
  const std::size_t all_nodes_;
  std::size_t next_ = 0;
  Captured captured_;
};

}  // namespace

Words words_of(std::string_view sentence) {
  std::istringstream stream{std::string(sentence)};
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<Duration> read_time(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  if (end == word.c_str()) return std::nullopt;
  const std::string unit = end;
  if (unit == "s") return Duration::microseconds(static_cast<std::int64_t>(number * 1e6));
  if (unit == "ms") return Duration::microseconds(static_cast<std::int64_t>(number * 1e3));
  return std::nullopt;
}

std::optional<Captured> match(std::string_view pattern, const Words& words, std::size_t all_nodes) {
  return Matcher(words, all_nodes).run(pattern);
}

}  // namespace redlock::sim
