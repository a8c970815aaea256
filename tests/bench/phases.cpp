#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "monitor.h"
#include "reports.h"

namespace redlock::bench {
namespace {

// The spans between five instants: start, request for the lock at the server, COMMAND's main(),
// release at the server, end. Programs without a server have but three.
struct Phases {
  std::vector<double> to_acquire;
  std::vector<double> to_command;
  std::vector<double> start_to_command;
  std::vector<double> to_release;
  std::vector<double> to_end;
  std::vector<double> command_to_end;
  std::string requests;
};

double stamped_ms(const Peer& peer, const Execution& execution) {
  std::int64_t ns = 0;
  if (execution.out.size() != sizeof ns) give_up("COMMAND of '" + peer.label + "' is not stamp");
  std::memcpy(&ns, execution.out.data(), sizeof ns);
  return static_cast<double>(ns) / 1e6;
}

// "EVALSHA (SET INCR), EVALSHA (GET DEL)": what the client sent, and what the scripts called.
std::string describe(const std::vector<Seen>& all) {
  std::string text;
  bool in_script = false;
  for (const Seen& seen : all) {
    if (in_script && !seen.by_script) text += ")";
    if (seen.by_script) {
      text += in_script ? " " : " (";
    } else if (!text.empty()) {
      text += ", ";
    }
    text += seen.command;
    in_script = seen.by_script;
  }
  return in_script ? text + ")" : text;
}

void add(Phases& phases, const Peer& peer, const Execution& execution,
         const std::vector<Seen>& seen) {
  const double command = stamped_ms(peer, execution);
  phases.start_to_command.push_back(command - execution.started_ms);
  phases.command_to_end.push_back(execution.ended_ms - command);
  if (seen.empty()) return;
  const auto acquire = std::find_if(seen.begin(), seen.end(), is_lock_request);
  const auto release = std::find_if(seen.rbegin(), seen.rend(), is_lock_request);
  if (acquire == seen.end() || release->at_ms <= command) {
    give_up("'" + peer.label + "' sent: " + describe(seen));
  }
  phases.to_acquire.push_back(acquire->at_ms - execution.started_ms);
  phases.to_command.push_back(command - acquire->at_ms);
  phases.to_release.push_back(release->at_ms - command);
  phases.to_end.push_back(execution.ended_ms - release->at_ms);
  phases.requests = describe(seen);
}

void print_span(const std::vector<double>& span) {
  if (span.empty()) {
    fmt::print("{:>10}", "-");
  } else {
    fmt::print("{:>10.2f}", median(span));
  }
}

void print_table(const std::vector<Peer>& peers, const std::vector<Phases>& all) {
  fmt::print("{:<38}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "where it goes, median ms", "start to",
             "acquire", "start to", "COMMAND", "release", "COMMAND");
  fmt::print("{:<38}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "acquire", "to COMM.", "COMMAND",
             "to rel.", "to end", "to end");
  for (std::size_t i = 0; i < peers.size(); ++i) {
    fmt::print("{:<38}", peers[i].label);
    if (!peers[i].present()) {
      fmt::print("  missing: {}\n", peers[i].missing);
      continue;
    }
    const Phases& phases = all[i];
    for (const auto* span : {&phases.to_acquire, &phases.to_command, &phases.start_to_command,
                             &phases.to_release, &phases.to_end, &phases.command_to_end}) {
      print_span(*span);
    }
    fmt::print("\n");
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!all[i].requests.empty()) {
      fmt::print("{} sends: {}\n", peers[i].id, all[i].requests);
    }
  }
}

}  // namespace

void report_phases(const std::vector<Peer>& peers, Sampling sampling, std::uint16_t port) {
  warm_up(peers);
  Monitor monitor(port);
  std::vector<Phases> all(peers.size());
  run_rounds(peers, sampling, [&](std::size_t peer, const Execution& execution) {
    add(all[peer], peers[peer], execution, monitor.take());
  });
  print_table(peers, all);
}

}  // namespace redlock::bench
