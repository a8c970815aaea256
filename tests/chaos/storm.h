// Contenders for one lock on five real servers, and faults of all kinds, one after the other,
// within what the lock promises to bear: at most a minority of servers is out or has lost its
// memory at a time, but for outages that are noted as such. Then the faults end, everybody must get
// in, and nothing may be left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chaos/contender.h"
#include "chaos/record.h"
#include "support/proxy.h"
#include "support/quorum.h"
#include "support/temp_dir.h"

namespace redlock::chaos {

struct StormPlan {
  test::milliseconds length{0};
  /// Of the faults and of the jobs. When which of them meets which is left to the machine.
  std::uint64_t seed = 0;
};

class Storm {
 public:
  explicit Storm(const StormPlan& plan);

  /// All of it: the faults, the calm, the end.
  void run();
  /// What was found wrong; empty when all is well. Each is one line.
  std::vector<std::string> findings() const;
  /// What there was of everything, one a line.
  std::string totals() const;

 private:
  struct Fault {
    std::string name;
    std::int64_t weight;
    bool (Storm::*strike)();
    /// How many servers it needs that could be done without. Young ones, which do not vote, are
    /// done without already.
    std::size_t servers = 0;
    bool forgets = false;  ///< a server loses its memory
  };
  static const std::vector<Fault>& faults();

  // The course of things (storm.cpp).
  void strike();
  void calm_down();
  void stop_all();
  /// The contenders live on for so long, or until `fact`; false if it does not come true.
  void live(test::milliseconds span);
  bool live_until(const std::function<bool()>& fact, test::milliseconds limit);
  void await(const std::string& what, const std::function<bool()>& fact, test::milliseconds limit);

  // Each says whether there was something to do it to.
  // Faults of servers and of the network to them (faults.cpp).
  bool crash_and_forget();
  bool crash_and_keep();
  bool stop_servers();
  bool pause_clients();
  bool cut_connections();
  bool delay_network();
  bool freeze_network();
  bool swallow_network();
  bool drop_replies();
  bool reset_network();
  // Faults of a contender's own processes.
  bool stop_front();
  bool kill_front();
  bool kill_guard();
  // Of a majority of servers.
  bool stop_majority();
  bool freeze_majority();
  bool crash_majority();

  /// Different indices below `of`, as many as can be done without, one at least.
  std::vector<std::size_t> dispensable(std::size_t of);
  std::vector<std::size_t> random_servers(std::size_t of, std::size_t count);
  std::size_t spare_servers() const;
  void note_restart(std::size_t server);
  /// How long a fault lasts: mostly less than a lease, sometimes more.
  test::milliseconds duration();
  void spoil_network(const std::function<void(test::Proxy&)>& spoil);
  void outage(const std::function<void()>& begin, const std::function<void()>& end);
  Contender* holder();
  Contender* victim();
  test::milliseconds rolled(std::int64_t least, std::int64_t most) {
    return test::milliseconds(roll(dice_, least, most));
  }

  const StormPlan plan_;
  Dice dice_;
  test::TempDir dir_;
  const std::string log_ = dir_.file("log");
  test::Quorum quorum_;
  /// Before the first servers of the list.
  std::vector<std::unique_ptr<test::Proxy>> proxies_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  Record record_;
  std::map<std::string, std::size_t> struck_;
  std::vector<std::string> stuck_;
  /// When each server votes again (CLOCK_BOOTTIME ns).
  std::vector<std::int64_t> old_at_;
  std::int64_t all_remember_at_ = 0;
};

}  // namespace redlock::chaos
