#include "chaos/storm.h"

#include <algorithm>

#include "support/lock_run.h"
#include "support/process.h"

namespace redlock::chaos {
namespace {

using test::milliseconds;

constexpr std::size_t kServers = 5;
/// As many as an outage of a network needs.
constexpr std::size_t kProxies = 3;
constexpr std::size_t kContenders = 6;
constexpr milliseconds kTtl{2'000};
constexpr milliseconds kPulse{5};
/// For a contender to get in when all is well, with all others as rivals.
constexpr milliseconds kTurn{40'000};

/// What was written survives a kill -9 without a sync, too; and a disk that stalls all servers at
/// once would be an outage that nobody noted.
test::Quorum::Options server_options(std::size_t) {
  return {.arguments = {"--appendfsync", "no"}, .keeps_data = true};
}

std::size_t entries(const test::JobLog& log) {
  return test::count(log, "enter");
}

}  // namespace

Storm::Storm(const StormPlan& plan)
    : plan_(plan), dice_(plan.seed), quorum_(kServers, server_options), old_at_(kServers) {
  record_.ttl = kTtl.count() * 1'000'000;
  quorum_.young_servers_do_not_vote();
  for (std::size_t i = 0; i < kProxies; ++i) {
    proxies_.push_back(std::make_unique<test::Proxy>(quorum_[i].port()));
    quorum_.set_url(i, proxies_.back()->url());
  }
  const std::vector<std::string> options{"-w", "inf", "--ttl", std::to_string(kTtl.count()) + "ms"};
  for (std::size_t i = 0; i < kContenders; ++i) {
    contenders_.push_back(std::make_unique<Contender>("c" + std::to_string(i), quorum_, options,
                                                      log_, plan.seed * kContenders + i));
  }
}

void Storm::live(milliseconds span) {
  static_cast<void>(live_until([] { return false; }, span));
}

bool Storm::live_until(const std::function<bool()>& fact, milliseconds limit) {
  const test::Stopwatch watch;
  do {
    for (const auto& contender : contenders_) contender->tick(record_.runs);
    if (fact()) return true;
    test::pace(kPulse);
  } while (watch.elapsed() < limit);
  return false;
}

void Storm::await(const std::string& what, const std::function<bool()>& fact, milliseconds limit) {
  if (!live_until(fact, limit)) {
    stuck_.push_back(what + " within " + std::to_string(limit.count()) + " ms");
  }
}

void Storm::run() {
  await(
      "nobody got in at the beginning", [this] { return entries(test::read_log(log_)) > 0; },
      kTurn);
  const test::Stopwatch watch;
  while (watch.elapsed() < plan_.length) strike();
  calm_down();
  stop_all();
  record_.log = test::read_log(log_);
}

void Storm::strike() {
  const bool all_remember = test::boottime_ns() >= all_remember_at_;
  std::vector<const Fault*> urn;
  for (const Fault& fault : faults()) {
    if (fault.servers > spare_servers() || (fault.forgets && !all_remember)) continue;
    urn.insert(urn.end(), static_cast<std::size_t>(fault.weight), &fault);
  }
  const auto last = static_cast<std::int64_t>(urn.size()) - 1;
  const Fault& fault = *urn[static_cast<std::size_t>(roll(dice_, 0, last))];
  if ((this->*fault.strike)()) ++struck_[fault.name];
  live(rolled(0, 400));
}

void Storm::calm_down() {
  const std::int64_t calm = test::boottime_ns();
  const auto all_got_in = [&] {
    const test::JobLog log = test::read_log(log_);
    bool all = true;
    for (const auto& contender : contenders_) {
      const bool got_in = std::any_of(log.begin(), log.end(), [&](const test::Stamp& stamp) {
        return stamp.what == "enter" && stamp.at > calm && contender->owns(stamp.run);
      });
      // It has had its turn; there is no order among those that wait.
      if (got_in) contender->rest();
      all = all && got_in;
    }
    return all;
  };
  await("after the storm a contender did not get in", all_got_in, kTurn);
}

void Storm::stop_all() {
  for (const auto& contender : contenders_) contender->rest();
  const auto all_ended = [this] {
    return std::none_of(contenders_.begin(), contenders_.end(),
                        [](const auto& contender) { return contender->is_running(); });
  };
  await("at the end a run did not end", all_ended, 2 * kTurn);
  // The key of a run whose processes were killed goes by its ttl.
  await("at the end a key was left", [this] { return quorum_.only_fences_left(); }, 2 * kTtl);
  const auto all_dead = [this] {
    const test::JobLog log = test::read_log(log_);
    return std::none_of(log.begin(), log.end(),
                        [](const test::Stamp& stamp) { return test::is_running(stamp.pid); });
  };
  await("at the end a process of a job was left", all_dead, kTtl);
}

std::vector<std::string> Storm::findings() const {
  std::vector<std::string> all = chaos::findings(record_);
  all.insert(all.end(), stuck_.begin(), stuck_.end());
  return all;
}

std::string Storm::totals() const {
  const auto ended_with = [this](const std::string& how) {
    return std::count_if(record_.runs.begin(), record_.runs.end(),
                         [&how](const RunRecord& run) { return run.how == how; });
  };
  std::string text = "seed " + std::to_string(plan_.seed) + ", " + std::to_string(kServers) +
                     " servers, " + std::to_string(kContenders) + " contenders, ttl " +
                     std::to_string(kTtl.count()) + " ms\n";
  const auto line = [&text](const std::string& what, std::size_t number) {
    text += "  " + what + std::string(what.size() < 40 ? 40 - what.size() : 1, ' ') +
            std::to_string(number) + "\n";
  };
  line("acquisitions", entries(record_.log));
  line("runs", record_.runs.size());
  for (const auto& [name, times] : struck_) line("fault: " + name, times);
  line("leases lost", static_cast<std::size_t>(ended_with(kLost)));
  line("leases lost for no reason", wrong_endings(record_).size());
  line("overlaps", overlaps(record_).size());
  line("fencing numbers that did not grow", fence_faults(record_).size());
  line("jobs that outlived their lease", outlived(record_).size());
  line("stuck or left behind", stuck_.size());
  return text;
}

}  // namespace redlock::chaos
