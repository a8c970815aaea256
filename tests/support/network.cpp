#include "support/network.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "support/process.h"

namespace redlock::test {
namespace {

bool is_root() {
  return ::geteuid() == 0;
}

/// Runs a program of the system; fails the test if it fails.
void run_tool(const std::vector<std::string>& under, const std::vector<std::string>& words,
              const std::string& input = "") {
  const Ending ending = Launch(words).under(under).stdin_text(input).run();
  REQUIRE_MESSAGE(ending.how == exit_with(0),
                  words.front() << ": " << ending.how << ": " << ending.err
                                << "; tests of partitions need ip (iproute2), iptables, nsenter "
                                   "and unshare, and to run as root or with user namespaces");
}

std::string wire(std::size_t host) {
  return "host" + std::to_string(host);
}

/// 10.77.1.END and up: the net between the servers and one host.
std::string address_on_wire(std::size_t host, int end) {
  return "10.77." + std::to_string(host + 1) + "." + std::to_string(end);
}

}  // namespace

std::string Network::address(std::size_t server) {
  return "10.77.0.1" + std::to_string(server + 1);
}

/// A namespace lives as long as the process in it. A namespace of users, in which we are root,
/// comes with the first if we are not.
Run Network::start_machine(const std::vector<std::string>& under) const {
  const bool as_root = is_root() || !under.empty();
  Run machine =
      Launch({"unshare", as_root ? "-n" : "-rn", "sleep", "infinity"}).under(under).start();
  const bool ready = wait_until([&machine] {
    const auto stat = process_stat(machine.pid());
    return machine.ended() || (stat && stat->name == "sleep");
  });
  REQUIRE_MESSAGE((ready && !machine.ended()),
                  "no network namespace; run as root or allow user namespaces: " << machine.err());
  return machine;
}

std::vector<std::string> Network::inside(const Run& machine) {
  std::vector<std::string> words{"nsenter", "-t", std::to_string(machine.pid()), "-n"};
  if (!is_root()) words.insert(words.end(), {"-U", "--preserve-credentials"});
  return words;
}

Network::Network() {
  machines_.push_back(std::make_unique<Run>(start_machine({})));
  const std::vector<std::string> servers = among_servers();
  std::string batch = "link set lo up\n";
  for (std::size_t i = 0; i < kServers; ++i) batch += "addr add " + address(i) + "/32 dev lo\n";
  for (std::size_t host = 0; host < kHosts; ++host) {
    machines_.push_back(
        std::make_unique<Run>(start_machine(is_root() ? std::vector<std::string>{} : servers)));
    batch += "link add " + wire(host) + " type veth peer name wire netns " +
             std::to_string(machines_.back()->pid()) + "\n";
    batch += "addr add " + address_on_wire(host, 1) + "/24 dev " + wire(host) + "\n";
    batch += "link set " + wire(host) + " up\n";
  }
  run_tool(servers, {"ip", "-batch", "-"}, batch);
  for (std::size_t host = 0; host < kHosts; ++host) {
    run_tool(on_host(host), {"ip", "-batch", "-"},
             "link set lo up\naddr add " + address_on_wire(host, 2) +
                 "/24 dev wire\nlink set wire up\nroute add 10.77.0.0/24 via " +
                 address_on_wire(host, 1) + "\n");
  }
  heal();
}

Network::~Network() = default;

std::vector<std::string> Network::among_servers() const {
  return inside(*machines_.at(0));
}
std::vector<std::string> Network::on_host(std::size_t host) const {
  return inside(*machines_.at(1 + host));
}

void Network::cut(std::size_t host, std::size_t server, Cut how) {
  const auto drop = [&](const std::string& chain, const std::string& interface,
                        const std::string& side) {
    run_tool(among_servers(), {"iptables", "-w", "-A", chain, interface, wire(host), side,
                               address(server), "-j", "DROP"});
  };
  drop("OUTPUT", "-o", "-s");
  if (how == Cut::both_ways) drop("INPUT", "-i", "-d");
}

void Network::heal() {
  run_tool(among_servers(), {"iptables", "-w", "-F"});
}

}  // namespace redlock::test
