// Makes text from the network fit for a line on somebody's terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::redis {

/// `text` with control characters and everything that is not valid UTF-8 written as \xNN, cut to at
/// most `limit` bytes with "..." at the end of what was cut.
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace redlock::redis
