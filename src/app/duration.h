// Spans of time as people write and read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace redlock::app {

/// Reads `10` (seconds), `0.5`, `500ms`, `30s`, `2m`, `1h30m`, `1d`, `inf`. Parts of a nanosecond
/// are rounded up, so that nothing positive becomes zero. nullopt for anything else, and for what
/// does not fit (over 290 years).
std::optional<Duration> parse_duration(std::string_view text);

/// `250ms`, `21.3s`, `12m03s`, `3h05m`, `2d04h`, `ever` for an infinite one.
std::string format_duration(Duration span);

}  // namespace redlock::app
