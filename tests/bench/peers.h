// What is compared: the list that scripts/bench writes to stdin, run in shuffled rounds so that
// whatever else the machine does hits all alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "execution.h"

namespace redlock::bench {

/// One line of the list: ID, label, expected exit status, words of the command; or ID, label,
/// "missing", reason. Separated by tabs.
struct Peer {
  std::string id;
  std::string label;
  int expected_status = 0;
  std::vector<std::string> argv;
  std::string missing;  ///< why it cannot be compared; empty when it can

  bool present() const { return missing.empty(); }
};

struct Sampling {
  int rounds = 0;
  std::uint32_t seed = 0;
};

/// Reads stdin to its end; a line it does not understand ends the bench.
std::vector<Peer> read_peers();

/// Runs every present peer twice, so that the caches are warm and nothing fails at the first time
/// only.
void warm_up(const std::vector<Peer>& peers);

/// Runs every present peer once a round, in an order that changes with each round, and hands over
/// what it cost. An unexpected exit status ends the bench: what fails early would look fast.
void run_rounds(const std::vector<Peer>& peers, Sampling sampling,
                const std::function<void(std::size_t peer, const Execution&)>& take);

/// The value below which `share` (0..1) of the values lie; 0 without values.
double quantile(std::vector<double> values, double share);
double median(const std::vector<double>& values);

}  // namespace redlock::bench
