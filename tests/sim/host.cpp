#include "sim/host.h"

#include <algorithm>
#include <utility>

namespace redlock::sim {

Host::Host(World& world, std::size_t index)
    : world_(world),
      index_(index),
      clock_{world.chance.ms_between(0, 1'000'000),
             world.chance.between(-world.plan.ppm_most, world.plan.ppm_most)},
      draw_([&world] { return world.chance.draw(); }),
      runs_left_(world.plan.runs_each),
      links_(world.plan.nodes) {}

TimePoint Host::local() const {
  return clock_.read(world_.schedule.now());
}

void Host::begin() {
  run_id_ = world_.next_run();
  core::RunConfig config;
  config.lease = {
      .nodes = world_.nodes.size(), .timing = world_.timing, .wait = Duration::infinite()};
  config.supervision.timing = world_.timing;
  inbox_.clear();
  for (Link& link : links_) {
    // A new process has no connection; the network does not change for it.
    ++link.epoch;
    link.up = link.connecting = false;
    link.waiting.clear();
    link.unanswered.clear();
  }
  run_ = std::make_unique<core::Run>(config, draw_);
  feed(core::Begin{});
  schedule_turn();
}

void Host::pause(Duration span) {
  paused_until_ = std::max(paused_until_, world_.schedule.now() + span);
  world_.note(1);
}

// --- the front
// -------------------------------------------------------------------------------------

void Host::give(core::RunInput input) {
  if (!run_) return;
  inbox_.push_back(std::move(input));
  schedule_turn();
}

void Host::schedule_turn() {
  if (!run_) return;
  TimePoint when = inbox_.empty() ? clock_.when(run_->wakeup()) : world_.schedule.now();
  when = std::max(when, paused_until_);
  if (when.is_never()) return;
  const std::uint64_t number = ++turn_number_;
  world_.schedule.at(when, [this, number] {
    if (number == turn_number_) turn();
  });
}

void Host::turn() {
  if (!run_) return;
  if (paused_until_ > world_.schedule.now()) return schedule_turn();
  feed(core::Tick{});
  while (run_ && !inbox_.empty()) {
    const core::RunInput input = std::move(inbox_.front());
    inbox_.pop_front();
    feed(input);
  }
  if (run_) feed(core::Tick{});
  schedule_turn();
}

void Host::feed(const core::RunInput& input) {
  world_.note(input.index() + 10);
  for (const core::RunEffect& effect : run_->step(local(), input)) {
    world_.note(effect.index() + 100);
    perform(effect);
    if (!run_) return;
  }
}

void Host::perform(const core::RunEffect& effect) {
  if (const auto* out = std::get_if<core::Send>(&effect)) {
    send(out->node.get(), out->request);
  } else if (const auto* spawn = std::get_if<core::Spawn>(&effect)) {
    start_job(*spawn);
  } else if (const auto* publish = std::get_if<core::Publish>(&effect)) {
    if (fenced_ || local() >= page_.kill) return;
    page_ = publish->deadlines;
    if (publish->urgent && fence_) schedule_guard();
  } else if (const auto* stop = std::get_if<core::StopJob>(&effect)) {
    if (fence_ && !guard_dead_) guard_perform(fence_->step(local(), *stop));
  } else if (std::holds_alternative<core::KillGuard>(effect)) {
    kill_guard();
  } else if (std::holds_alternative<core::KillTree>(effect)) {
    kill_job();
  } else if (const auto* granted = std::get_if<core::Granted>(&effect)) {
    valid_until_ = granted->valid_until;
  } else if (const auto* extended = std::get_if<core::Extended>(&effect)) {
    valid_until_ = extended->valid_until;
  } else if (const auto* over = std::get_if<core::Finish>(&effect)) {
    finish(over->verdict);
  }
}

void Host::finish(const core::Verdict& verdict) {
  if (verdict.ending == core::Ending::lost) ++world_.report.lost;
  const bool gave_up =
      verdict.ending == core::Ending::unavailable || verdict.ending == core::Ending::held;
  if (gave_up) ++world_.report.gave_up;
  if (job_alive_) world_.violate("a run ended before its job");
  if (verdict.ending == core::Ending::command_exited) check_left_behind();
  end_run();
}

/// After a clean end no server that could be reached for the last second keeps the key; what is
/// under way to a slow one has arrived a second later. Where a connection broke, what was under way
/// on it may arrive behind the release; the ttl ends that.
void Host::check_left_behind() {
  const TimePoint a_second_ago = world_.schedule.now() - Duration::seconds(1);
  std::vector<std::size_t> reachable;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const bool heard = links_[i].silent_until < a_second_ago;
    const bool ran = world_.nodes[i].stopped_until < a_second_ago;
    const bool intact = links_[i].broken_at < a_second_ago;
    if (!world_.troubled() && heard && ran && intact) reachable.push_back(i);
  }
  world_.schedule.in(Duration::milliseconds(900), [this, reachable, ended = run_id_] {
    for (const std::size_t i : reachable) {
      if (world_.nodes[i].holder(world_.schedule.now()) == ended) {
        world_.violate("a clean end left its key behind");
      }
    }
  });
}

void Host::end_run() {
  // Nobody watches the connections any more.
  for (Link& link : links_) ++link.epoch;
  run_.reset();
  fence_.reset();
  ++start_number_;
  ++guard_number_;
  --runs_left_;
  if (runs_left_ > 0) {
    world_.schedule.in(world_.chance.ms_between(0, 800), [this] { begin(); });
  }
}

void Host::kill_front() {
  if (!run_) return;
  world_.note(3);
  ++turn_number_;
  ++start_number_;
  for (Link& link : links_) ++link.epoch;
  run_.reset();
  if (!job_alive_ || guard_dead_) return end_run();
  guard_perform(fence_->step(local(), core::FrontGone{}));
  schedule_guard();
}

// --- the network
// -----------------------------------------------------------------------------------

void Host::send(std::size_t node, const core::Request& request) {
  Link& link = links_[node];
  if (link.up) return transmit(node, request);
  link.waiting.push_back(request);
  if (!link.connecting) connect(node);
}

void Host::connect(std::size_t node) {
  Link& link = links_[node];
  link.connecting = true;
  const std::uint64_t epoch = link.epoch;
  const TimePoint limit = world_.schedule.now() + world_.timing.connect_limit();
  const TimePoint up =
      std::max(world_.schedule.now() + world_.chance.ms_between(0, 20), link.silent_until);
  world_.schedule.at(std::min(up, limit), [this, node, epoch, works = up <= limit] {
    Link& now = links_[node];
    if (now.epoch != epoch) return;
    now.connecting = false;
    if (!works) return break_link(node);
    now.up = true;
    give(core::NodeLink{NodeIndex(node), true});
    for (const core::Request& request : std::exchange(now.waiting, {})) transmit(node, request);
  });
}

void Host::break_link(std::size_t node) {
  Link& link = links_[node];
  world_.note(2);
  link.broken.insert(link.epoch++);
  link.broken_at = world_.schedule.now();
  const bool was_up = std::exchange(link.up, false);
  link.connecting = false;
  core::Outcome nothing;
  for (const core::RequestId id : std::exchange(link.unanswered, {})) {
    give(core::NodeAnswer{NodeIndex(node), id, nothing});
  }
  for (const core::Request& request : std::exchange(link.waiting, {})) {
    give(core::NodeAnswer{NodeIndex(node), request.id, nothing});
  }
  if (was_up) give(core::NodeLink{NodeIndex(node), false});
}

void Host::silence_link(std::size_t node, Duration span) {
  links_[node].silent_until = std::max(links_[node].silent_until, world_.schedule.now() + span);
}

/// In order on one connection, in any order across connections. What was sent before a connection
/// broke may still be executed.
void Host::transmit(std::size_t node, const core::Request& request) {
  Link& link = links_[node];
  link.unanswered.push_back(request.id);
  const auto delay = [this] {
    return world_.chance.one_in(12) ? world_.chance.ms_between(0, 400)
                                    : world_.chance.ms_between(0, 5);
  };
  const bool dies_with_link = world_.chance.one_in(2);
  link.last_there = std::max({link.last_there, world_.schedule.now() + delay(), link.silent_until});
  world_.schedule.at(link.last_there, [this, node, request, dies_with_link, delay,
                                       epoch = link.epoch, run = run_id_] {
    // Whoever ends cleanly leaves what is under way to the system, which delivers it.
    if (dies_with_link && links_[node].broken.contains(epoch)) return;
    const TimePoint executed = std::max(world_.schedule.now(), world_.nodes[node].stopped_until);
    world_.schedule.at(executed, [this, node, request, delay, epoch, run] {
      const core::Outcome outcome =
          world_.nodes[node].execute(world_.schedule.now(), run, request, world_.timing.ttl);
      Link& now = links_[node];
      now.last_back = std::max({now.last_back, world_.schedule.now() + delay(), now.silent_until});
      world_.schedule.at(now.last_back, [this, node, request, outcome, epoch] {
        Link& back = links_[node];
        if (back.epoch != epoch) return;
        if (!back.unanswered.empty()) back.unanswered.pop_front();
        give(core::NodeAnswer{NodeIndex(node), request.id, outcome});
      });
    });
  });
  watch_silence(node, request.id);
}

/// As the program does: a connection on which the oldest request stays unanswered is dropped.
void Host::watch_silence(std::size_t node, core::RequestId request) {
  world_.schedule.in(
      world_.timing.connect_limit(), [this, node, request, epoch = links_[node].epoch] {
        const Link& link = links_[node];
        const bool unanswered = std::find(link.unanswered.begin(), link.unanswered.end(),
                                          request) != link.unanswered.end();
        if (link.epoch == epoch && unanswered) break_link(node);
      });
}

// --- the guard and the job
// ---------------------------------------------------------------------------

void Host::start_job(const core::Spawn& spawn) {
  page_ = spawn.deadlines;
  fenced_ = false;
  const TimePoint latest_start = spawn.deadlines.stop - world_.timing.renew_interval;
  const Duration takes =
      world_.chance.one_in(10) ? world_.chance.ms_between(0, 900) : world_.chance.ms_between(0, 3);
  guard_dead_ = false;
  fence_.reset();
  const std::uint64_t number = ++start_number_;
  world_.schedule.in(takes, [this, latest_start, number, fence = spawn.fence.get()] {
    if (number != start_number_) return;
    if (local() > latest_start) return give(core::StartDeclined{});
    run_job(fence);
  });
}

void Host::kill_guard() {
  const bool exists =
      run_ && !guard_dead_ && core::Supervision::State::waiting != run_->supervision().state();
  if (!exists) return;
  world_.note(4);
  guard_dead_ = true;
  ++guard_number_;
  ++start_number_;
  // COMMAND dies with its parent; the front, if it gets any time, kills what COMMAND started.
  world_.schedule.in(world_.plan.kill_takes, [this, job = job_] { end_job(job); });
  give(core::GuardDied{});
}

void Host::kill_job() {
  world_.schedule.in(world_.plan.kill_takes, [this, job = job_, run = run_id_] {
    end_job(job);
    if (run_ && run == run_id_) give(core::JobOver{});
  });
}

void Host::run_job(std::uint64_t fence) {
  world_.job_begins(index_, fence);
  const std::uint64_t job = ++job_;
  job_alive_ = true;
  obeys_ = !world_.chance.one_in(3);
  fence_.emplace(world_.timing.kill_after, world_.timing.kill_margin + Duration::seconds(2));
  give(core::Started{});
  world_.schedule.in(world_.chance.ms_between(1, 4000), [this, job] { end_job(job); });
  schedule_guard();
}

void Host::end_job(std::uint64_t job) {
  if (job != job_ || !job_alive_) return;
  job_alive_ = false;
  if (local() > valid_until_) world_.violate("a job outlived its lease");
  world_.job_ends(index_);
  if (guard_dead_) return;
  give(core::CommandEnded{});
  guard_perform(fence_->step(local(), core::Census{true, true, true}));
}

void Host::schedule_guard() {
  if (world_.plan.guard_sleeps) return;
  const TimePoint when = clock_.when(fence_->wakeup(page_));
  if (when.is_never()) return;
  const std::uint64_t number = ++guard_number_;
  // A busy host: the guard's timer is a little late.
  world_.schedule.at(when + world_.chance.ms_between(0, 10), [this, number] {
    if (number == guard_number_) guard_tick();
  });
}

void Host::guard_tick() {
  guard_perform(fence_->step(local(), core::GuardTick{page_}));
  if (fence_ && fence_->state() != core::Fence::State::over) schedule_guard();
}

void Host::guard_perform(const core::FenceEffects& effects) {
  for (const core::FenceEffect effect : effects) {
    world_.note(static_cast<std::uint64_t>(effect) + 200);
    const std::uint64_t job = job_;
    switch (effect) {
      case core::FenceEffect::signal_job:
      case core::FenceEffect::signal_tree:
        if (obeys_) {
          world_.schedule.in(world_.chance.ms_between(0, 400), [this, job] { end_job(job); });
        }
        break;
      case core::FenceEffect::kill_tree:
        world_.schedule.in(world_.plan.kill_takes, [this, job] { end_job(job); });
        break;
      case core::FenceEffect::report_fenced:
        fenced_ = true;
        give(core::Fenced{});
        break;
      case core::FenceEffect::report_unkillable:
        give(core::Unkillable{});
        break;
      case core::FenceEffect::finish:
        if (run_) {
          give(core::JobOver{});
        } else {
          end_run();
          return;
        }
        break;
    }
  }
}

}  // namespace redlock::sim
