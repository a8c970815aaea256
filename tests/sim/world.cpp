#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "sim/host.h"

namespace redlock::sim {

void SimNode::expire(TimePoint truth) {
  if (key_ && key_->expires <= clock_.read(truth)) key_.reset();
}

std::optional<std::uint64_t> SimNode::holder(TimePoint truth) {
  expire(truth);
  return key_ ? std::optional(key_->run) : std::nullopt;
}

core::Outcome SimNode::execute(TimePoint truth, std::uint64_t run, const core::Request& request,
                               Duration ttl) {
  expire(truth);
  const TimePoint expires = clock_.read(truth) + ttl;
  const bool ours = key_ && key_->run == run && key_->attempt == request.attempt;
  core::Outcome outcome;
  switch (request.kind) {
    case core::RequestKind::acquire:
    case core::RequestKind::heal:
      if (key_ && (key_->run != run || key_->attempt > request.attempt)) {
        outcome.answer = key_->run == run ? core::Answer::failed : core::Answer::held;
        outcome.remaining = key_->expires - clock_.read(truth);
        return outcome;
      }
      if (!plan_.fence_stands_still || counter_ == 0) ++counter_;
      counter_ = std::max(counter_, request.fence.get());
      key_ = Key{run, request.attempt, expires};
      outcome.answer = core::Answer::granted;
      outcome.fence = FencingToken(counter_);
      return outcome;
    case core::RequestKind::renew:
      if (!ours) {
        outcome.answer = key_ ? core::Answer::foreign : core::Answer::gone;
        return outcome;
      }
      key_->expires = expires;
      counter_ = std::max(counter_, request.fence.get());
      outcome.answer = core::Answer::granted;
      outcome.raised = true;
      return outcome;
    case core::RequestKind::release:
      outcome.answer = core::Answer::granted;
      if (!ours && !(plan_.release_ignores_token && key_)) {
        outcome.answer = key_ ? core::Answer::foreign : core::Answer::gone;
        return outcome;
      }
      key_.reset();
      return outcome;
  }
  return outcome;
}

World::World(const Plan& p) : plan(p), chance(p.seed) {
  for (std::size_t i = 0; i < plan.nodes; ++i) {
    nodes.emplace_back(plan, Clock{chance.ms_between(-60'000, 60'000),
                                   chance.between(-plan.ppm_most, plan.ppm_most)});
  }
  for (std::size_t i = 0; i < plan.hosts; ++i) {
    hosts_.push_back(std::make_unique<Host>(*this, i));
  }
}

World::~World() = default;

bool World::troubled() const {
  return schedule.now() < TimePoint::from_ns(plan.troubled.ns());
}

void World::note(std::uint64_t what) {
  report.trace =
      (report.trace ^ what ^ static_cast<std::uint64_t>(schedule.now().ns())) * 0x100000001B3;
}

void World::violate(std::string what) {
  report.violations.push_back(std::to_string(schedule.now().ns() / 1'000'000) +
                              " ms: " + std::move(what));
}

void World::job_begins(std::size_t host, std::uint64_t fence) {
  ++report.jobs;
  if (working_) {
    violate("host " + std::to_string(host) + " starts a job beside that of host " +
            std::to_string(*working_));
  }
  working_ = host;
  if (fence <= last_fence_) violate("fencing token " + std::to_string(fence) + " does not grow");
  last_fence_ = std::max(last_fence_, fence);
}

void World::job_ends(std::size_t host) {
  if (working_ == host) working_.reset();
}

void World::make_trouble() {
  if (!troubled()) return;
  Host& host = *hosts_[chance.draw() % hosts_.size()];
  const std::size_t node = chance.draw() % nodes.size();
  switch (chance.between(0, 9)) {
    case 0:
      host.kill_front();
      break;
    case 1:
      host.kill_guard();
      break;
    case 2:
    case 3:
      host.pause(chance.ms_between(1, 2500));
      break;
    case 4:
    case 5:
      host.break_link(node);
      break;
    case 6:
    case 7:
      host.silence_link(node, chance.ms_between(1, 2500));
      break;
    default:
      nodes[node].stopped_until =
          std::max(nodes[node].stopped_until, schedule.now() + chance.ms_between(1, 2500));
      break;
  }
  schedule.in(chance.ms_between(10, 1500), [this] { make_trouble(); });
}

Report World::run() {
  for (const auto& host : hosts_) {
    schedule.in(chance.ms_between(0, 300), [&host] { host->begin(); });
  }
  schedule.in(chance.ms_between(10, 1500), [this] { make_trouble(); });
  const TimePoint end = TimePoint::from_ns(plan.troubled.ns()) + Duration::seconds(120);
  const auto all_done = [this] {
    return std::all_of(hosts_.begin(), hosts_.end(),
                       [](const auto& host) { return host->finished(); });
  };
  while (!all_done() && report.violations.empty()) {
    if (!schedule.run_next(end)) {
      violate("somebody never got its turn, long after the trouble ended");
      break;
    }
    ++report.steps;
  }
  return report;
}

}  // namespace redlock::sim
