#include "peers.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>

namespace redlock::bench {
namespace {

std::vector<std::string> split_at_tabs(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream rest(line);
  for (std::string field; std::getline(rest, field, '\t');) fields.push_back(field);
  return fields;
}

Peer parse_peer(const std::string& line) {
  const std::vector<std::string> fields = split_at_tabs(line);
  if (fields.size() < 4) give_up("not a peer: '" + line + "'");
  Peer peer;
  peer.id = fields[0];
  peer.label = fields[1];
  if (fields[2] == "missing") {
    peer.missing = fields[3];
  } else {
    peer.expected_status = std::atoi(fields[2].c_str());
    peer.argv.assign(fields.begin() + 3, fields.end());
  }
  return peer;
}

}  // namespace

std::vector<Peer> read_peers() {
  std::vector<Peer> peers;
  for (std::string line; std::getline(std::cin, line);) peers.push_back(parse_peer(line));
  return peers;
}

void warm_up(const std::vector<Peer>& peers) {
  run_rounds(peers, {.rounds = 2, .seed = 0}, [](std::size_t, const Execution&) {});
}

void run_rounds(const std::vector<Peer>& peers, Sampling sampling,
                const std::function<void(std::size_t peer, const Execution&)>& take) {
  std::mt19937 random(sampling.seed);
  std::vector<std::size_t> order(peers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < sampling.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) {
      const Peer& peer = peers[index];
      if (!peer.present()) continue;
      const Execution execution = execute(peer.argv);
      if (execution.status != peer.expected_status) {
        give_up("'" + peer.label + "' ended with " + std::to_string(execution.status) +
                " instead of " + std::to_string(peer.expected_status) + ":\n" + execution.err);
      }
      take(index, execution);
    }
  }
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto position = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + position, values.end());
  return values[static_cast<std::size_t>(position)];
}

double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

}  // namespace redlock::bench
