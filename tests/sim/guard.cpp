#include "sim/guard.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "sim/host.h"
#include "sim/world.h"

namespace redlock::sim {
namespace {

constexpr core::CommandStatus kExited{};
constexpr core::CommandStatus kTerminated{.signalled = true, .value = SIGTERM};
constexpr core::CommandStatus kKilled{.signalled = true, .value = SIGKILL};

}  // namespace

Guard::Guard(World& world, Host& host) : process(world.schedule), world_(world), host_(host) {}

TimePoint Guard::local() const {
  return host_.local();
}

void Guard::start(const core::Spawn& spawn, const Job& job) {
  state_ = State::starting;
  spawn_ = spawn;
  spec_ = job;
  page_ = spawn.deadlines;
  must_be_dead_at_ = page_.kill + world_.plan.timing.kill_margin;
  front_gone_ = fenced_ = false;
  fence_.reset();
  orders_.clear();
  process.end();
  world_.schedule.in(world_.chance.up_to(job.starts_in), [this, number = ++started_] {
    process.when_awake([this, number] {
      if (number == started_ && state_ == State::starting) begin_job();
    });
  });
}

void Guard::begin_job() {
  if (local() > spawn_->deadlines.stop - world_.plan.timing.renew_interval) {
    state_ = State::none;
    front_gone_ ? host_.guard_ended() : host_.give(core::StartDeclined{});
    return;
  }
  state_ = State::guarding;
  const core::Timing& timing = world_.plan.timing;
  fence_.emplace(timing.kill_after, timing.kill_margin + Duration::seconds(2));
  start_unasked(spec_);
  host_.give(core::Started{});
  for (const auto& order : std::exchange(orders_, {})) order();
  if (front_gone_) perform(fence_->step(local(), core::FrontGone{}));
  schedule_tick();
}

void Guard::start_unasked(const Job& job) {
  ++job_;
  job_alive_ = true;
  host_.job_began = world_.schedule.now();
  host_.job_ended = TimePoint::never();
  world_.checks.job_begins(host_, spawn_ ? spawn_->fence.get() : 0);
  end_job_in(job.takes, kExited);
}

void Guard::end_job_in(Duration span, core::CommandStatus status) {
  world_.schedule.in(span, [this, job = job_, status] { end_job(job, status); });
}

void Guard::end_job(std::uint64_t job, core::CommandStatus status) {
  if (job != job_ || !job_alive_) return;
  job_alive_ = false;
  host_.job_ended = world_.schedule.now();
  world_.checks.job_ends(host_);
  process.when_awake([this, job, status] {
    if (state_ != State::guarding || job != job_) return;
    host_.give(core::CommandEnded{status});
    perform(fence_->step(local(), core::Census{true, true, true}));
  });
}

void Guard::publish(const core::Publish& order) {
  const Duration margin = world_.plan.timing.kill_margin;
  // Bad news leaves it a margin to act on. A lease that is extended after the guard should have
  // killed is good all the same, and the front knows.
  must_be_dead_at_ = order.deadlines.kill + margin;
  if (order.urgent) must_be_dead_at_ = std::max(must_be_dead_at_, local() + margin);
  if (fenced_ || local() >= page_.kill) return;
  page_ = order.deadlines;
  if (order.urgent && state_ == State::guarding) {
    process.when_awake([this] { schedule_tick(); });
  }
}

/// An order waits in the socket until the guard reads it.
void Guard::when_started(std::function<void()> what) {
  process.when_awake([this, what = std::move(what)] {
    if (state_ == State::starting) {
      orders_.push_back(what);
    } else if (state_ == State::guarding) {
      what();
    }
  });
}

void Guard::stop(const core::StopJob& order) {
  when_started([this, order] {
    perform(fence_->step(local(), order));
    schedule_tick();
  });
}

void Guard::forward(const core::Forward&) {
  when_started([this] {
    if (spec_.obeys) end_job_in(spec_.dies_in, kTerminated);
  });
}

void Guard::front_gone() {
  front_gone_ = true;
  process.when_awake([this] {
    if (state_ != State::guarding) return;
    perform(fence_->step(local(), core::FrontGone{}));
    schedule_tick();
  });
}

void Guard::kill() {
  if (!exists()) return;
  world_.note(host_.index, "its guard is killed");
  const bool started = state_ == State::guarding;
  state_ = State::dead;
  process.end();
  // COMMAND dies with its parent; the front, if there is one, ends what COMMAND started.
  if (started) end_job_in(world_.kill_time(), kKilled);
  front_gone_ ? host_.guard_ended() : host_.give(core::GuardDied{});
}

void Guard::kill_tree() {
  world_.schedule.in(world_.kill_time(), [this, number = started_] {
    end_job(job_, kKilled);
    if (number == started_) host_.give(core::JobOver{});
  });
}

void Guard::schedule_tick() {
  if (world_.plan.broken.guard_sleeps || state_ != State::guarding) return;
  const TimePoint when = host_.when(fence_->wakeup(page_));
  if (when.is_never()) return;
  // A busy host: the guard's timer is a little late.
  const Duration late = world_.chance.up_to(world_.plan.guard_late_most);
  world_.schedule.at(when + late, [this, number = ++tick_] {
    process.when_awake([this, number] {
      if (number != tick_ || state_ != State::guarding) return;
      perform(fence_->step(local(), core::GuardTick{page_}));
      schedule_tick();
    });
  });
}

void Guard::perform(const core::FenceEffects& effects) {
  for (const core::FenceEffect effect : effects) {
    switch (effect) {
      case core::FenceEffect::signal_job:
      case core::FenceEffect::signal_tree:
        world_.note(host_.index, "its job is told to stop");
        if (spec_.obeys) end_job_in(spec_.dies_in, kTerminated);
        if (world_.plan.broken.job_is_called_over) host_.give(core::JobOver{});
        break;
      case core::FenceEffect::kill_tree:
        end_job_in(world_.kill_time(), kKilled);
        break;
      case core::FenceEffect::report_fenced:
        world_.note(host_.index, "its guard crosses the stop line");
        fenced_ = true;
        host_.give(core::Fenced{});
        break;
      case core::FenceEffect::report_unkillable:
        host_.give(core::Unkillable{});
        state_ = State::over;
        break;
      case core::FenceEffect::finish:
        state_ = State::over;
        front_gone_ ? host_.guard_ended() : host_.give(core::JobOver{});
        return;
    }
  }
}

}  // namespace redlock::sim
