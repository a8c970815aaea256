// The three parts of the report. Each measures and prints; plain text, at most 100 columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peers.h"

namespace redlock::bench {

/// What the whole process costs, as a table with ratios to the peers `true`, `flock` and `floor`.
void report_cost(const std::vector<Peer>& peers, Sampling sampling);

/// Where the time goes between start and end, and which requests were sent. COMMAND of every peer
/// must be stamp; the lock must be on the server that listens on `port`.
void report_phases(const std::vector<Peer>& peers, Sampling sampling, std::uint16_t port);

/// Memory and wake-ups while COMMAND runs. `argv` is a redlock-run with an idle COMMAND that
/// outlives the measurement (it is ended then) and renews on the server on `port`.
void report_holding(const std::vector<std::string>& argv, std::uint16_t port);

}  // namespace redlock::bench
