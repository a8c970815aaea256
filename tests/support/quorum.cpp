#include "support/quorum.h"

#include <algorithm>
#include <map>

#include "support/lock_run.h"

namespace redlock::test {
namespace {

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

Quorum::Quorum(std::size_t size, const std::function<Options(std::size_t)>& options_of) {
  for (std::size_t i = 0; i < size; ++i) {
    servers_.push_back(std::make_unique<RedisServer>(options_of(i)));
    urls_.push_back(servers_.back()->url());
  }
}

std::vector<std::string> Quorum::arguments() const {
  std::vector<std::string> words;
  for (const std::string& url : urls_) append(words, {"-r", url});
  if (min_uptime_) append(words, {"--min-uptime", "0"});
  return words;
}

std::vector<std::optional<std::string>> Quorum::values(const std::string& key) {
  std::vector<std::optional<std::string>> found;
  for (const auto& server : servers_) found.push_back(server->get(key));
  return found;
}

std::size_t Quorum::count(const std::string& key, const std::string& value) {
  const auto found = values(key);
  return static_cast<std::size_t>(std::count_if(found.begin(), found.end(), [&](const auto& one) {
    return one && (value.empty() || *one == value);
  }));
}

std::string Quorum::agreed(const std::string& key) {
  std::map<std::string, std::size_t> votes;
  for (const auto& value : values(key)) {
    if (value && ++votes[*value] >= majority()) return *value;
  }
  return {};
}

bool Quorum::only_fences_left() {
  return std::all_of(servers_.begin(), servers_.end(),
                     [](const auto& server) { return test::only_fences_left(*server); });
}

void Quorum::each(std::size_t from, std::size_t to, const std::function<void(RedisServer&)>& what) {
  for (std::size_t i = from; i < to; ++i) what(*servers_.at(i));
}

Launch lock(const Quorum& quorum, const std::vector<std::string>& args) {
  std::vector<std::string> words = quorum.arguments();
  append(words, args);
  return redlock(words);
}

Launch probe_job(const Quorum& quorum, const std::vector<std::string>& options,
                 const std::vector<std::string>& actions) {
  std::vector<std::string> words = options;
  append(words, {"job", probe()});
  append(words, actions);
  return lock(quorum, words);
}

}  // namespace redlock::test
