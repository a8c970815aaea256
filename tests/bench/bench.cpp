// bench ports COUNT
// bench cost ROUNDS SEED < PEERS
// bench phases ROUNDS SEED PORT < PEERS
// bench holding PORT COMMAND [ARG]...
//
// The measuring part of scripts/bench, which prepares the servers and knows what to compare.
//
//   execution   one program, run once and measured
//   peers       what is compared, in shuffled rounds
//   monitor     when which request reached the server
//   cost, phases, holding   the parts of the report
//   floor, stamp   programs of their own: the yardstick, and a COMMAND that says when it began
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "reports.h"

namespace redlock::bench {
namespace {

UniqueFd bind_any(sockaddr_in& address) {
  socklen_t length = sizeof address;
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!fd || ::bind(fd.get(), generic, length) != 0 ||
      ::getsockname(fd.get(), generic, &length) != 0) {
    give_up("no free port on 127.0.0.1");
  }
  return fd;
}

// Ports of 127.0.0.1 that were free a moment ago, all different.
void print_free_ports(int count) {
  std::vector<UniqueFd> bound;
  for (int i = 0; i < count; ++i) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bound.push_back(bind_any(address));
    fmt::print("{}\n", ntohs(address.sin_port));
  }
}

std::uint16_t port_of(const std::string& word) {
  return static_cast<std::uint16_t>(std::atoi(word.c_str()));
}

Sampling sampling_of(const std::string& rounds, const std::string& seed) {
  return {std::atoi(rounds.c_str()),
          static_cast<std::uint32_t>(std::strtoul(seed.c_str(), nullptr, 10))};
}

int run(const std::vector<std::string>& words) {
  const std::string part = words.empty() ? "" : words[0];
  if (part == "ports" && words.size() == 2) {
    print_free_ports(std::atoi(words[1].c_str()));
  } else if (part == "cost" && words.size() == 3) {
    report_cost(read_peers(), sampling_of(words[1], words[2]));
  } else if (part == "phases" && words.size() == 4) {
    report_phases(read_peers(), sampling_of(words[1], words[2]), port_of(words[3]));
  } else if (part == "holding" && words.size() > 2) {
    report_holding({words.begin() + 2, words.end()}, port_of(words[1]));
  } else {
    give_up("usage is at the top of bench.cpp");
  }
  return 0;
}

}  // namespace
}  // namespace redlock::bench

int main(int argc, char** argv) {
  return redlock::bench::run({argv + 1, argv + argc});
}
