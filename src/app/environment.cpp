#include "app/environment.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace redlock::app {
namespace {

constexpr std::string_view kServers = "REDLOCK_RUN_REDIS=";
constexpr std::string_view kPassword = "REDLOCK_RUN_PASSWORD=";
constexpr std::string_view kListenPid = "LISTEN_PID=";
constexpr std::size_t kPidRoom = 12;
constexpr std::array kRemoved = {
    kPassword,
    // systemd's: they are about this process, and answers by another one are refused.
    std::string_view("NOTIFY_SOCKET="),
    std::string_view("WATCHDOG_USEC="),
    std::string_view("WATCHDOG_PID="),
};
/// Ours to set; what an outer run left is not true of this one.
constexpr std::array kOurs = {
    std::string_view("REDLOCK_NAME="),   std::string_view("REDLOCK_KEY="),
    std::string_view("REDLOCK_TOKEN="),  std::string_view("REDLOCK_FENCE="),
    std::string_view("REDLOCK_TTL_MS="),
};

template <class List>
bool begins_with_any(std::string_view text, const List& list) {
  return std::any_of(list.begin(), list.end(),
                     [text](std::string_view start) { return text.starts_with(start); });
}

/// Calls `found(begin, end)` for each password in the URLs in `text`, from the back. A URL's
/// password stands between the first colon after `://` and the last `@` before a slash or blank.
template <class Found>
void for_each_password(std::string_view text, const Found& found) {
  std::size_t url_end = text.size();
  while (url_end > 0) {
    const std::size_t blank = text.rfind(' ', url_end - 1);
    const std::size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
    const std::string_view url = text.substr(begin, url_end - begin);
    const std::size_t scheme = url.find("://");
    if (scheme != std::string_view::npos) {
      const std::size_t at = url.rfind('@', url.find('/', scheme + 3));
      const std::size_t colon = url.find(':', scheme + 3);
      if (at != std::string_view::npos && colon < at) found(begin + colon, begin + at);
    }
    if (blank == std::string_view::npos) return;
    url_end = blank;
  }
}

void hide_in(char* text, std::string_view part) {
  char* const base = text + (part.data() - text);
  for_each_password(part, [base](std::size_t begin, std::size_t end) {
    ::memset(base + begin + 1, '*', end - begin - 1);
  });
}

bool names_this_process(const std::string& entry) {
  if (!entry.starts_with(kListenPid)) return false;
  return entry.substr(kListenPid.size()).c_str() == std::to_string(::getpid());
}

}  // namespace

char* find_listen_pid(std::vector<std::string>& environment) {
  for (std::string& entry : environment) {
    if (names_this_process(entry)) return entry.data() + kListenPid.size();
  }
  return nullptr;
}

std::vector<std::string> command_environment(char* const* inherited, const LockFacts& facts) {
  std::vector<std::string> environment;
  for (; *inherited != nullptr; ++inherited) {
    std::string entry = *inherited;
    if (begins_with_any(entry, kRemoved) || begins_with_any(entry, kOurs)) continue;
    if (entry.starts_with(kServers)) {
      const std::string copy = entry;
      for_each_password(
          copy, [&entry](std::size_t begin, std::size_t end) { entry.erase(begin, end - begin); });
    }
    if (names_this_process(entry)) entry.resize(kListenPid.size() + kPidRoom);
    environment.push_back(std::move(entry));
  }
  environment.push_back("REDLOCK_NAME=" + facts.name.get());
  environment.push_back("REDLOCK_KEY=" + facts.key.get());
  environment.push_back("REDLOCK_TOKEN=" + facts.token.get());
  environment.push_back(fmt::format("REDLOCK_FENCE={}", facts.fence.get()));
  environment.push_back(fmt::format("REDLOCK_TTL_MS={}", facts.ttl.ms()));
  return environment;
}

void hide_passwords(int argc, char** argv, char** environment) {
  for (int i = 1; i < argc; ++i) hide_in(argv[i], argv[i]);
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(kPassword)) {
      ::explicit_bzero(*environment + kPassword.size(), entry.size() - kPassword.size());
    } else if (entry.starts_with(kServers)) {
      hide_in(*environment, entry);
    }
  }
}

}  // namespace redlock::app
