// What the storm does. Every fault is healed when its function returns; only how long a server has
// been up outlives it.
#include <signal.h>

#include <algorithm>

#include "chaos/storm.h"
#include "support/lock_run.h"

namespace redlock::chaos {
namespace {

using test::milliseconds;
using test::RedisServer;

/// From then on a server that was restarted votes again: --min-uptime is the ttl, in whole seconds
/// that Redis rounds up.
constexpr std::int64_t kYouthNs = 4'000'000'000;
/// Longer than the ttl, so that nothing may be alive at the end.
constexpr std::int64_t kOutageLeastMs = 500;
constexpr std::int64_t kOutageMostMs = 4'000;

}  // namespace

const std::vector<Storm::Fault>& Storm::faults() {
  static const std::vector<Fault> all{
      {"kill -9 of a server, restart empty", 4, &Storm::crash_and_forget, true},
      {"kill -9 of servers, restart with data", 3, &Storm::crash_and_keep, true},
      {"SIGSTOP of servers", 3, &Storm::stop_servers, true},
      {"CLIENT PAUSE", 3, &Storm::pause_clients, true},
      {"CLIENT KILL on all servers", 3, &Storm::cut_connections},
      {"network: slow", 2, &Storm::delay_network, true},
      {"network: cut", 2, &Storm::freeze_network, true},
      {"network: black hole", 2, &Storm::swallow_network, true},
      {"network: replies lost", 2, &Storm::drop_replies, true},
      {"network: reset", 2, &Storm::reset_network, true},
      {"SIGSTOP of a front", 4, &Storm::stop_front},
      {"kill -9 of a front", 3, &Storm::kill_front},
      {"kill -9 of a guard", 3, &Storm::kill_guard},
      {"majority: SIGSTOP", 1, &Storm::stop_majority, true},
      {"majority: network cut", 1, &Storm::freeze_majority, true},
      {"majority: kill -9, restart with data", 1, &Storm::crash_majority, true},
  };
  return all;
}

/// `least`..`most` different indices below `of`.
std::vector<std::size_t> Storm::some_servers(std::size_t of, std::size_t least, std::size_t most) {
  std::vector<std::size_t> indices(of);
  for (std::size_t i = 0; i < of; ++i) indices[i] = i;
  std::shuffle(indices.begin(), indices.end(), dice_);
  indices.resize(static_cast<std::size_t>(
      roll(dice_, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most))));
  return indices;
}

void Storm::crash_and_forget() {
  RedisServer& server = quorum_[some_servers(quorum_.size(), 1, 1).front()];
  server.kill9();
  if (one_in(dice_, 2)) live(rolled(0, 1'500));
  server.restart_empty();
  all_old_at_ = test::boottime_ns() + kYouthNs;
}

void Storm::crash_and_keep() {
  const std::vector<std::size_t> hit = some_servers(quorum_.size(), 1, quorum_.minority());
  for (const std::size_t i : hit) quorum_[i].kill9();
  live(rolled(0, 1'500));
  for (const std::size_t i : hit) quorum_[i].restart();
  all_old_at_ = test::boottime_ns() + kYouthNs;
}

void Storm::stop_servers() {
  const std::vector<std::size_t> hit = some_servers(quorum_.size(), 1, quorum_.minority());
  for (const std::size_t i : hit) quorum_[i].pause();
  live(rolled(50, 3'000));
  for (const std::size_t i : hit) quorum_[i].resume();
}

void Storm::pause_clients() {
  const milliseconds span = rolled(50, 3'000);
  for (const std::size_t i : some_servers(quorum_.size(), 1, quorum_.minority())) {
    quorum_[i].pause_clients(span);
  }
  live(span);
}

void Storm::cut_connections() {
  for (std::int64_t times = roll(dice_, 1, 15); times > 0; --times) {
    quorum_.each(0, quorum_.size(), [](RedisServer& server) { server.cut_clients(); });
    live(milliseconds(100));
  }
}

void Storm::spoil_network(const std::function<void(test::Proxy&)>& spoil) {
  const std::vector<std::size_t> hit = some_servers(proxies_.size(), 1, quorum_.minority());
  for (const std::size_t i : hit) spoil(*proxies_[i]);
  live(rolled(50, 3'000));
  for (const std::size_t i : hit) proxies_[i]->pass();
}

void Storm::delay_network() {
  const milliseconds span = rolled(10, 600);
  spoil_network([span](test::Proxy& proxy) { proxy.delay(span); });
  live(span);  // what is under way arrives
}
void Storm::freeze_network() {
  spoil_network([](test::Proxy& proxy) { proxy.freeze(); });
}
void Storm::swallow_network() {
  spoil_network([](test::Proxy& proxy) { proxy.swallow(); });
}
void Storm::drop_replies() {
  spoil_network([](test::Proxy& proxy) { proxy.drop_replies(); });
}
void Storm::reset_network() {
  spoil_network([](test::Proxy& proxy) { proxy.refuse(); });
}

/// The contender whose token a majority has; nobody when the lock is free or the holder is a run
/// that has ended.
Contender* Storm::holder() {
  const std::string token = quorum_.agreed(test::kJobKey);
  for (const auto& contender : contenders_) {
    const std::string pid = ":" + std::to_string(contender->front()) + ":";
    if (contender->is_running() && test::contains(token, pid)) return contender.get();
  }
  return nullptr;
}

/// Mostly a holder, sometimes one that waits; nobody whom something has been done to already.
Contender* Storm::victim() {
  Contender* found = nullptr;
  if (!one_in(dice_, 4)) {
    static_cast<void>(live_until([&] { return (found = holder()) != nullptr; }, milliseconds(500)));
  }
  if (found == nullptr) {
    const auto last = static_cast<std::int64_t>(contenders_.size()) - 1;
    found = contenders_[static_cast<std::size_t>(roll(dice_, 0, last))].get();
  }
  return found->is_untouched() ? found : nullptr;
}

void Storm::stop_front() {
  Contender* const one = victim();
  if (one == nullptr) return;
  const pid_t pid = one->front();
  one->disturb({kLost});
  ::kill(pid, SIGSTOP);
  live(rolled(50, 4'000));
  // A process that was stopped has not ended, so the number is still its own.
  ::kill(pid, SIGCONT);
}

void Storm::kill_front() {
  Contender* const one = victim();
  if (one == nullptr) return;
  one->disturb({test::killed_by(SIGKILL)});
  ::kill(one->front(), SIGKILL);
}

void Storm::kill_guard() {
  Contender* const one = victim();
  const pid_t guard = one == nullptr ? -1 : one->guard();
  if (guard <= 0) return;
  one->disturb({kLost});
  ::kill(guard, SIGKILL);
}

void Storm::outage(const std::function<void()>& begin, const std::function<void()>& end) {
  begin();
  // No request sent from here on is granted by a majority.
  const std::int64_t from = test::boottime_ns();
  live(rolled(kOutageLeastMs, kOutageMostMs));
  record_.outages.push_back({from, test::boottime_ns()});
  end();
}

void Storm::stop_majority() {
  const auto hit = some_servers(quorum_.size(), quorum_.majority(), quorum_.majority());
  outage(
      [&] {
        for (const std::size_t i : hit) quorum_[i].pause();
      },
      [&] {
        for (const std::size_t i : hit) quorum_[i].resume();
      });
}

void Storm::freeze_majority() {
  outage(
      [&] {
        for (const auto& proxy : proxies_) proxy->freeze();
      },
      [&] {
        for (const auto& proxy : proxies_) proxy->pass();
      });
}

void Storm::crash_majority() {
  const auto hit = some_servers(quorum_.size(), quorum_.majority(), quorum_.majority());
  outage(
      [&] {
        for (const std::size_t i : hit) quorum_[i].kill9();
      },
      [&] {
        for (const std::size_t i : hit) quorum_[i].restart();
      });
  all_old_at_ = test::boottime_ns() + kYouthNs;
}

}  // namespace redlock::chaos
