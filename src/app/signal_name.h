// Names of signals, as kill(1) knows them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace redlock::app {

/// Reads `TERM`, `SIGTERM`, `term` or `15`; nullopt when there is no such signal.
std::optional<int> parse_signal(std::string_view text);

/// `SIGTERM`; `signal 60` when it has no name.
std::string signal_name(int signal);

}  // namespace redlock::app
