#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "monitor.h"
#include "reports.h"

namespace redlock::bench {
namespace {

constexpr double kResidentAimKib = 6 * 1024;
constexpr double kWakeupsAim = 2;
constexpr int kRenewals = 10;
constexpr int kPatienceMs = 20'000;
constexpr int kLookEveryMs = 20;
/// Long enough for what belongs to a renewal that was just seen, short beside the next one.
constexpr int kSettleMs = 200;

// The number after `key` in a file of /proc; it has to be there.
double proc_number(pid_t pid, const std::string& file, const std::string& key) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) == 0)
      return std::strtod(line.c_str() + key.size(), nullptr);
  }
  give_up(path + " has no " + key);
}

// redlock-run and its child; the guard is known by its name.
class Holder {
 public:
  explicit Holder(const std::vector<std::string>& argv) {
    std::vector<char*> arguments = exec_arguments(argv);
    if (::posix_spawnp(&front_, argv[0].c_str(), nullptr, nullptr, arguments.data(), environ) !=
        0) {
      give_up("cannot run " + argv[0]);
    }
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    ::kill(front_, SIGTERM);
    ::waitpid(front_, nullptr, 0);
  }

  pid_t front() const { return front_; }

  /// 0 while there is none.
  pid_t guard() const {
    const std::string front = std::to_string(front_);
    std::ifstream children("/proc/" + front + "/task/" + front + "/children");
    for (pid_t child = 0; children >> child;) {
      std::ifstream file("/proc/" + std::to_string(child) + "/comm");
      std::string name;
      std::getline(file, name);
      if (name == "redlock-guard") return child;
    }
    return 0;
  }

 private:
  pid_t front_ = 0;
};

pid_t wait_for_guard(const Holder& holder) {
  for (int waited = 0; waited < kPatienceMs; waited += kLookEveryMs) {
    if (const pid_t guard = holder.guard()) return guard;
    ::poll(nullptr, 0, kLookEveryMs);
  }
  give_up("redlock-run has no child named redlock-guard");
}

int wait_for_renewals(Monitor& monitor, int wanted) {
  int renewals = 0;
  for (int waited = 0; renewals < wanted; waited += kLookEveryMs) {
    if (waited > kPatienceMs * wanted) give_up("redlock-run does not renew");
    ::poll(nullptr, 0, kLookEveryMs);
    const std::vector<Seen> seen = monitor.take();
    renewals += static_cast<int>(std::count_if(seen.begin(), seen.end(), is_lock_request));
  }
  ::poll(nullptr, 0, kSettleMs);
  return renewals;
}

struct Memory {
  double resident = 0;
  double proportional = 0;
  double own = 0;
};

Memory memory_of(pid_t pid) {
  const std::string file = "smaps_rollup";
  return {proc_number(pid, file, "Rss:"), proc_number(pid, file, "Pss:"),
          proc_number(pid, file, "Private_Clean:") + proc_number(pid, file, "Private_Dirty:")};
}

void print_memory(std::string_view who, const Memory& memory) {
  fmt::print("{:<38}{:>12.0f}{:>14.0f}{:>12.0f}\n", who, memory.resident, memory.proportional,
             memory.own);
}

double switches(pid_t pid) {
  return proc_number(pid, "status", "voluntary_ctxt_switches:");
}

std::string_view verdict(double value, double at_most) {
  return value <= at_most ? "met" : "missed";
}

}  // namespace

void report_holding(const std::vector<std::string>& argv, std::uint16_t port) {
  Monitor monitor(port);
  const Holder holder(argv);
  const pid_t guard = wait_for_guard(holder);
  wait_for_renewals(monitor, 1);

  const Memory front_memory = memory_of(holder.front());
  const Memory guard_memory = memory_of(guard);
  const double front_before = switches(holder.front());
  const double guard_before = switches(guard);
  const int renewals = wait_for_renewals(monitor, kRenewals);
  const double front_wakeups = (switches(holder.front()) - front_before) / renewals;
  const double guard_wakeups = (switches(guard) - guard_before) / renewals;

  const Memory both{front_memory.resident + guard_memory.resident,
                    front_memory.proportional + guard_memory.proportional,
                    front_memory.own + guard_memory.own};
  fmt::print("{:<38}{:>12}{:>14}{:>12}\n", "memory while COMMAND runs, KiB", "resident",
             "proportional", "private");
  print_memory("front", front_memory);
  print_memory("guard", guard_memory);
  print_memory("both", both);
  fmt::print("aim: at most {:.0f} KiB resident; measured {:.0f}, {}\n", kResidentAimKib,
             both.resident, verdict(both.resident, kResidentAimKib));
  const double wakeups = front_wakeups + guard_wakeups;
  fmt::print("wake-ups per renewal ({} renewals): front {:.1f}, guard {:.1f}\n", renewals,
             front_wakeups, guard_wakeups);
  fmt::print("aim: at most {:.0f} wake-ups per renewal; measured {:.1f}, {}\n", kWakeupsAim,
             wakeups, verdict(wakeups, kWakeupsAim));
}

}  // namespace redlock::bench
