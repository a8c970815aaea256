#include "app/signal_name.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace redlock::app {

std::optional<int> parse_signal(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end) {
    return number > 0 && number <= SIGRTMAX ? std::optional(number) : std::nullopt;
  }
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* const known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  return std::nullopt;
}

std::string signal_name(int signal) {
  const char* const known = ::sigabbrev_np(signal);
  return known != nullptr ? fmt::format("SIG{}", known) : fmt::format("signal {}", signal);
}

}  // namespace redlock::app
