#include "support/lock_run.h"

#include <algorithm>
#include <cstdlib>

#ifndef RR_BINARY
#define RR_BINARY "redlock-run"
#endif
#ifndef RR_PROBE
#define RR_PROBE "probe"
#endif

namespace redlock::test {
namespace {

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::string binary() {
  return from_environment("RR_BINARY", RR_BINARY);
}
std::string probe() {
  return from_environment("RR_PROBE", RR_PROBE);
}

Launch redlock(const std::vector<std::string>& args) {
  return Launch(joined({binary()}, args));
}

Launch lock(const RedisServer& server, const std::vector<std::string>& args) {
  return redlock(joined({"-r", server.url()}, args));
}

Launch probe_job(const RedisServer& server, const std::vector<std::string>& options,
                 const std::vector<std::string>& actions) {
  return lock(server, joined(joined(options, {"job", probe()}), actions));
}

bool only_fences_left(RedisServer& server) {
  const std::vector<std::string> keys = server.keys();
  return std::all_of(keys.begin(), keys.end(), [&server](const std::string& key) {
    return key.ends_with(":fence") && server.pttl(key) == -1;
  });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> split_at_nul(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\0', start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) break;
    start = end + 1;
  }
  return parts;
}

}  // namespace redlock::test
