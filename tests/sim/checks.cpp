// Checks of runs and jobs: who may live when, what a run's end leaves, and that things go on.
#include "sim/checks.h"

#include <algorithm>

#include "sim/host.h"
#include "sim/world.h"

namespace redlock::sim {

const char* name_of(Check check) {
  static constexpr const char* kNames[kChecks] = {
      "exclusion", "belief", "early", "outlived", "foreign",  "left",       "heal",      "fencing",
      "owed",      "pace",   "storm", "wait",     "liveness", "false loss", "ends early"};
  return kNames[static_cast<int>(check)];
}

void Checks::violate(Check check, const std::string& text) {
  violations_.push_back({check, std::string(name_of(check)) + ": " + text});
  world_.note(Trace::kNobody, violations_.back().text);
}

Checks::Watched& Checks::of(const Host& host) {
  Watched& watched = watched_[host.index];
  watched.standing.resize(std::max(world_.nodes.size(), host.links.size()));
  return watched;
}

void Checks::after_step() {
  for (const auto& host : world_.hosts) {
    check_belief(*host);
    check_job(*host);
  }
  check_progress();
}

// --- runs

void Checks::run_begins(const Host& host) {
  watched_[host.index] = Watched();
}

void Checks::granted(const Host& host) {
  of(host).granted = true;
}

void Checks::run_ends(const Host& host, const core::Verdict& verdict) {
  const std::string who = host_name(host.index);
  const bool survivors = verdict.ending == core::Ending::survivors;
  if (host.guard.job_alive() && !survivors)
    violate(Check::ends_early, who + " ends before its job");
  if (verdict.ending == core::Ending::lost) check_loss(host);
  check_wait(host, verdict);
  if (!survivors) check_left(host);
}

void Checks::check_loss(const Host& host) {
  ++world_.counts.losses;
  if (world_.plan.calm == Calm::none) return;
  // A server that is too young to vote is there only for those who need no vote of it.
  const std::int64_t grown = (world_.plan.min_uptime.ms() + world_.plan.timing.ttl.ms()) / 1000 + 3;
  const bool all_grown =
      std::all_of(world_.nodes.begin(), world_.nodes.end(), [&](const auto& node) {
        return world_.plan.min_uptime == Duration() || node->uptime_seconds() > grown;
      });
  if (!all_grown) return;
  violate(Check::false_loss,
          host_name(host.index) + " loses its lease while a majority is always there");
}

/// A wait ends when it runs out, plus the time for undoing the last attempt; without a wait, an
/// undecided vote is tried again for a while, and the last attempt may have to connect.
void Checks::check_wait(const Host& host, const core::Verdict& verdict) {
  const bool gave_up =
      verdict.ending == core::Ending::held || verdict.ending == core::Ending::unavailable;
  if (!gave_up) return;
  ++world_.counts.gave_up;
  // A job that could not be started in time has used the wait up, too.
  if (host.was_paused() || of(host).granted) return;
  const core::Timing& timing = world_.plan.timing;
  const Duration tries = std::min(Duration::seconds(1), timing.ttl / 4);
  const Duration limit = std::max(host.command().wait, tries) + timing.connect_limit() +
                         timing.node_timeout * 3 + Duration::milliseconds(100);
  if (world_.schedule.now() - host.began() > limit) {
    violate(Check::wait, host_name(host.index) + " gives up too late");
  }
}

// --- jobs

void Checks::job_begins(const Host& host, std::uint64_t fence) {
  const std::string who = host_name(host.index);
  ++world_.counts.jobs;
  world_.note(host.index, "its job begins");
  idle_since_ = TimePoint::never();
  if (working_) {
    violate(Check::exclusion, who + " starts a job beside that of " + host_name(*working_));
  }
  working_ = host.index;
  if (!of(host).granted) violate(Check::early, who + " starts a job without a lease");
  if (fence <= last_fence_ && fencing_applies(host)) {
    violate(Check::fencing,
            who + " has token " + std::to_string(fence) + " after " + std::to_string(last_fence_));
  }
  last_fence_ = std::max(last_fence_, fence);
  last_entry_ = world_.schedule.now();
}

bool Checks::fencing_applies(const Host& host) const {
  if (!counter_lost_) return true;
  return world_.plan.wall_skew_most == Duration() &&
         host.attempt_began() > last_entry_ + Duration::milliseconds(100);
}

void Checks::job_ends(const Host& host) {
  world_.note(host.index, "its job is over");
  if (working_ == host.index) working_.reset();
}

void Checks::check_job(const Host& host) {
  if (!host.guard.job_alive() || host.local() <= host.guard.job_must_be_dead_at()) return;
  violate(Check::outlived, "the job of " + host_name(host.index) + " outlives its lease");
}

// --- going on

/// What may stand in the way of a free lock: the key of a holder that died, servers that were
/// started just now, and rivals who pause after a collision; then a few attempts.
Duration Checks::progress_limit() const {
  const Plan& plan = world_.plan;
  const Duration ttl = plan.timing.ttl + plan.timing.ttl / 50;
  const Duration young =
      plan.min_uptime > Duration() ? plan.min_uptime + Duration::seconds(2) : Duration();
  const Duration backoff_most = Duration::seconds(3);
  return std::max(ttl, young) + backoff_most + Duration::milliseconds(1500);
}

void Checks::check_progress() {
  const auto wants = [](const auto& host) {
    return host->run() != nullptr && !host->front.paused() &&
           host->run()->supervision().state() == core::Supervision::State::waiting &&
           host->command().wait.is_infinite();
  };
  const auto has = [](const auto& host) { return host->guard.job_alive() || host->guard.exists(); };
  const bool idle = world_.calm_since() <= world_.schedule.now() && !working_ &&
                    std::any_of(world_.hosts.begin(), world_.hosts.end(), wants) &&
                    std::none_of(world_.hosts.begin(), world_.hosts.end(), has);
  if (!idle) {
    idle_since_ = TimePoint::never();
  } else if (idle_since_.is_never()) {
    idle_since_ = world_.schedule.now();
  } else if (world_.schedule.now() - idle_since_ > progress_limit()) {
    violate(Check::liveness, "the lock is free and wanted, and nobody takes it");
  }
}

}  // namespace redlock::sim
