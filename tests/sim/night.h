// One random world from its beginning to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/world.h"

namespace redlock::sim {

/// What a world amounted to.
struct Report {
  std::vector<Violation> violations;
  std::uint64_t trace = 0;
  std::vector<std::string> lines;  ///< only if `readable`
  Counts counts;
};

/// Ends with the first violation, or when every host has made its runs; long after the trouble is
/// over nobody may be without.
Report run_night(const Plan& plan, bool readable = false);

}  // namespace redlock::sim
