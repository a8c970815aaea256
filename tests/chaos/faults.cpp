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
/// In most outages all leases run out.
constexpr std::int64_t kOutageLeastMs = 500;
constexpr std::int64_t kOutageMostMs = 4'000;
/// Of a quorum of five.
constexpr std::size_t kMinority = 2;

}  // namespace

const std::vector<Storm::Fault>& Storm::faults() {
  static const std::vector<Fault> all{
      {"kill -9 of a server, restart empty", 6, &Storm::crash_and_forget, 1, true},
      {"kill -9 of servers, restart with data", 3, &Storm::crash_and_keep, 1},
      {"SIGSTOP of servers", 3, &Storm::stop_servers, 1},
      {"CLIENT PAUSE", 3, &Storm::pause_clients, 1},
      {"CLIENT KILL on all servers", 2, &Storm::cut_connections},
      {"network: slow", 2, &Storm::delay_network, 1},
      {"network: cut", 2, &Storm::freeze_network, 1},
      {"network: black hole", 2, &Storm::swallow_network, 1},
      {"network: replies lost", 2, &Storm::drop_replies, 1},
      {"network: reset", 2, &Storm::reset_network, 1},
      {"SIGSTOP of a front", 3, &Storm::stop_front},
      {"kill -9 of a front", 2, &Storm::kill_front},
      {"kill -9 of a guard", 2, &Storm::kill_guard},
      {"majority: SIGSTOP", 2, &Storm::stop_majority, kMinority},
      {"majority: network cut", 2, &Storm::freeze_majority, kMinority},
      {"majority: kill -9, restart with data", 2, &Storm::crash_majority, kMinority},
  };
  return all;
}

std::size_t Storm::spare_servers() const {
  const std::int64_t now = test::boottime_ns();
  const auto young = static_cast<std::size_t>(std::count_if(
      old_at_.begin(), old_at_.end(), [now](std::int64_t old_at) { return old_at > now; }));
  return young < quorum_.minority() ? quorum_.minority() - young : 0;
}

void Storm::note_restart(std::size_t server) {
  old_at_[server] = test::boottime_ns() + kYouthNs;
}

std::vector<std::size_t> Storm::random_servers(std::size_t of, std::size_t count) {
  std::vector<std::size_t> indices(of);
  for (std::size_t i = 0; i < of; ++i) indices[i] = i;
  std::shuffle(indices.begin(), indices.end(), dice_);
  indices.resize(count);
  return indices;
}

std::vector<std::size_t> Storm::dispensable(std::size_t of) {
  const auto most = static_cast<std::int64_t>(spare_servers());
  return random_servers(of,
                        static_cast<std::size_t>(roll(dice_, 1, std::max<std::int64_t>(most, 1))));
}

milliseconds Storm::duration() {
  return one_in(dice_, 3) ? rolled(1'000, 3'000) : rolled(50, 700);
}

bool Storm::crash_and_forget() {
  const std::size_t hit = random_servers(quorum_.size(), 1).front();
  quorum_[hit].kill9();
  if (one_in(dice_, 2)) live(duration());
  quorum_[hit].restart_empty();
  note_restart(hit);
  all_remember_at_ = old_at_[hit];
  return true;
}

bool Storm::crash_and_keep() {
  const std::vector<std::size_t> hit = dispensable(quorum_.size());
  for (const std::size_t i : hit) quorum_[i].kill9();
  live(duration());
  for (const std::size_t i : hit) quorum_[i].restart();
  for (const std::size_t i : hit) note_restart(i);
  return true;
}

bool Storm::stop_servers() {
  const std::vector<std::size_t> hit = dispensable(quorum_.size());
  for (const std::size_t i : hit) quorum_[i].pause();
  live(duration());
  for (const std::size_t i : hit) quorum_[i].resume();
  return true;
}

bool Storm::pause_clients() {
  const milliseconds span = duration();
  for (const std::size_t i : dispensable(quorum_.size())) {
    quorum_[i].pause_clients(span);
  }
  live(span);
  return true;
}

bool Storm::cut_connections() {
  for (std::int64_t times = roll(dice_, 1, 15); times > 0; --times) {
    quorum_.each(0, quorum_.size(), [](RedisServer& server) { server.cut_clients(); });
    live(milliseconds(100));
  }
  return true;
}

void Storm::spoil_network(const std::function<void(test::Proxy&)>& spoil) {
  const std::vector<std::size_t> hit = dispensable(proxies_.size());
  for (const std::size_t i : hit) spoil(*proxies_[i]);
  live(duration());
  for (const std::size_t i : hit) proxies_[i]->pass();
}

bool Storm::delay_network() {
  const milliseconds span = rolled(10, 600);
  spoil_network([span](test::Proxy& proxy) { proxy.delay(span); });
  live(span);  // what is under way arrives
  return true;
}
bool Storm::freeze_network() {
  spoil_network([](test::Proxy& proxy) { proxy.freeze(); });
  return true;
}
bool Storm::swallow_network() {
  spoil_network([](test::Proxy& proxy) { proxy.swallow(); });
  return true;
}
bool Storm::drop_replies() {
  spoil_network([](test::Proxy& proxy) { proxy.drop_replies(); });
  return true;
}
bool Storm::reset_network() {
  spoil_network([](test::Proxy& proxy) { proxy.refuse(); });
  return true;
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

bool Storm::stop_front() {
  Contender* const one = victim();
  if (one == nullptr) return false;
  const pid_t pid = one->front();
  one->disturb({kLost});
  ::kill(pid, SIGSTOP);
  live(rolled(50, 4'000));
  // A process that was stopped has not ended, so the number is still its own.
  ::kill(pid, SIGCONT);
  return true;
}

bool Storm::kill_front() {
  Contender* const one = victim();
  if (one == nullptr) return false;
  one->disturb({test::killed_by(SIGKILL)});
  ::kill(one->front(), SIGKILL);
  return true;
}

bool Storm::kill_guard() {
  Contender* const one = victim();
  const pid_t guard = one == nullptr ? -1 : one->guard();
  if (guard <= 0) return false;
  one->disturb({kLost});
  ::kill(guard, SIGKILL);
  return true;
}

void Storm::outage(const std::function<void()>& begin, const std::function<void()>& end) {
  begin();
  // No request sent from here on is granted by a majority.
  const std::int64_t from = test::boottime_ns();
  live(rolled(kOutageLeastMs, kOutageMostMs));
  record_.outages.push_back({from, test::boottime_ns()});
  end();
}

bool Storm::stop_majority() {
  const auto hit = random_servers(quorum_.size(), quorum_.majority());
  outage(
      [&] {
        for (const std::size_t i : hit) quorum_[i].pause();
      },
      [&] {
        for (const std::size_t i : hit) quorum_[i].resume();
      });
  return true;
}

bool Storm::freeze_majority() {
  outage(
      [&] {
        for (const auto& proxy : proxies_) proxy->freeze();
      },
      [&] {
        for (const auto& proxy : proxies_) proxy->pass();
      });
  return true;
}

bool Storm::crash_majority() {
  const auto hit = random_servers(quorum_.size(), quorum_.majority());
  outage(
      [&] {
        for (const std::size_t i : hit) quorum_[i].kill9();
      },
      [&] {
        for (const std::size_t i : hit) quorum_[i].restart();
      });
  for (const std::size_t i : hit) note_restart(i);
  return true;
}

}  // namespace redlock::chaos
