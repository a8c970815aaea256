// Three machines made of network namespaces: two hosts and a place for servers, joined by wires
// that a test can cut. Gone with the object, and with the runner, however that ends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/launch.h"

namespace redlock::test {

/// Needs ip (iproute2), iptables, nsenter and unshare (util-linux), and root or unprivileged user
/// namespaces; without them the constructor fails the test and says what is missing.
class Network {
 public:
  static constexpr std::size_t kHosts = 2;
  static constexpr std::size_t kServers = 5;

  /// Packets that a cut swallows without a word.
  enum class Cut { both_ways, replies };

  Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  /// The address of a server, the same from every host.
  static std::string address(std::size_t server);
  /// Words to put before a command line, to run it where the servers are, or on a host.
  std::vector<std::string> among_servers() const;
  std::vector<std::string> on_host(std::size_t host) const;

  /// Cuts one host off one server, for what is under way as for what is new.
  void cut(std::size_t host, std::size_t server, Cut how = Cut::both_ways);
  /// Undoes all cuts.
  void heal();

 private:
  Run start_machine(const std::vector<std::string>& under) const;
  static std::vector<std::string> inside(const Run& machine);

  std::vector<std::unique_ptr<Run>> machines_;  ///< of the servers, then the hosts'
};

}  // namespace redlock::test
