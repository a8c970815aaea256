#include <fmt/format.h>

#include <array>
#include <string_view>

#include "reports.h"

namespace redlock::bench {
namespace {

// The aims of the project: what a run may cost at most, as a multiple of the yardstick.
struct Aim {
  std::string_view subject;
  std::string_view yardstick;
  double at_most;
};
constexpr std::array kAims = {Aim{"redlock-run", "floor", 1.5}, Aim{"redlock-run", "flock", 1.5},
                              Aim{"five", "redlock-run", 1.3}, Aim{"silent", "five", 1.2}};
constexpr std::array<std::string_view, 3> kYardsticks = {"true", "flock", "floor"};

struct Costs {
  std::vector<double> wall_ms;
  std::vector<double> cpu_ms;
  std::vector<double> faults;
};

class Table {
 public:
  Table(const std::vector<Peer>& peers, const std::vector<Costs>& costs)
      : peers_(peers), costs_(costs) {}

  void print() const {
    fmt::print("{:<38}{:>7}{:>8}{:>8}{:>7}{:>7}{:>8}{:>8}{:>8}\n", "whole process, ms", "p10",
               "median", "p90", "CPU", "faults", "x true", "x flock", "x floor");
    for (std::size_t i = 0; i < peers_.size(); ++i) print_row(i);
  }

  void print_aims() const {
    for (const Aim& aim : kAims) {
      const double ratio = ratio_of(aim.subject, aim.yardstick);
      if (ratio == 0) continue;
      fmt::print("aim: {} at most {:.2f} x {}; measured {:.2f} x, {}\n", aim.subject, aim.at_most,
                 aim.yardstick, ratio, ratio <= aim.at_most ? "met" : "missed");
    }
  }

 private:
  void print_row(std::size_t i) const {
    const Peer& peer = peers_[i];
    if (!peer.present()) {
      fmt::print("{:<38}  missing: {}\n", peer.label, peer.missing);
      return;
    }
    const Costs& cost = costs_[i];
    fmt::print("{:<38}{:>7.2f}{:>8.2f}{:>8.2f}{:>7.2f}{:>7.0f}", peer.label,
               quantile(cost.wall_ms, 0.1), median(cost.wall_ms), quantile(cost.wall_ms, 0.9),
               median(cost.cpu_ms), median(cost.faults));
    for (const std::string_view yardstick : kYardsticks) {
      const double ratio = ratio_of(peer.id, yardstick);
      if (ratio == 0) {
        fmt::print("{:>8}", "-");
      } else {
        fmt::print("{:>8.2f}", ratio);
      }
    }
    fmt::print("\n");
  }

  double median_of(std::string_view id) const {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (peers_[i].id == id) return median(costs_[i].wall_ms);
    }
    return 0;
  }

  // 0 when one of them was not measured.
  double ratio_of(std::string_view id, std::string_view yardstick) const {
    const double divisor = median_of(yardstick);
    return divisor == 0 ? 0 : median_of(id) / divisor;
  }

  const std::vector<Peer>& peers_;
  const std::vector<Costs>& costs_;
};

}  // namespace

void report_cost(const std::vector<Peer>& peers, Sampling sampling) {
  std::vector<Costs> costs(peers.size());
  warm_up(peers);
  run_rounds(peers, sampling, [&costs](std::size_t peer, const Execution& execution) {
    costs[peer].wall_ms.push_back(execution.wall_ms);
    costs[peer].cpu_ms.push_back(execution.cpu_ms);
    costs[peer].faults.push_back(execution.faults);
  });
  const Table table(peers, costs);
  table.print();
  table.print_aims();
}

}  // namespace redlock::bench
