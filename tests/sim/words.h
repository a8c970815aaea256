// Reading the sentences of scenarios: a line is split into words and compared with patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace redlock::sim {

using Words = std::vector<std::string>;

/// What the capitals of a pattern stood for, in order.
struct Captured {
  std::vector<std::size_t> hosts;
  std::vector<std::size_t> nodes;
  std::vector<Duration> times;
  std::vector<std::int64_t> numbers;
  std::string rest;  ///< of the sentence, behind a comma
};

Words words_of(std::string_view sentence);
/// "1.5s", "200ms"; nullopt for anything else.
std::optional<Duration> read_time(const std::string& word);

/// Patterns consist of words, of alternatives such as crash|crashes, and of
///   HOST    a host: a, b, ...; followed by 's where the pattern says HOST's
///   NODES   node 1; nodes 1,2; every node
///   TIME    a span of time
///   NUMBER  a number; a percent sign behind it is skipped
///   ...     what follows a comma, if anything does
std::optional<Captured> match(std::string_view pattern, const Words& words, std::size_t all_nodes);

}  // namespace redlock::sim
