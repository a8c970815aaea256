#include "app/enforcer.h"

#include <signal.h>

#include <algorithm>

namespace redlock::app {
namespace {

/// What is left of the job may end, or leave the session, without a SIGCHLD to us: so it is counted
/// again, soon at first, since most stragglers are gone within milliseconds.
constexpr Duration kFirstRecount = Duration::milliseconds(1);
constexpr Duration kRecountMost = Duration::milliseconds(500);

}  // namespace

Enforcer::Enforcer(pid_t main, bool own_group, int stop_signal, core::Fence fence,
                   EnforcerListener& listener)
    : tree_(main, own_group),
      stop_signal_(stop_signal),
      fence_(std::move(fence)),
      listener_(listener) {}

void Enforcer::tick(TimePoint now, const core::Deadlines& deadlines) {
  perform(fence_.step(now, core::GuardTick{deadlines}), now);
  if (recount_at_ <= now) count(now);
}

void Enforcer::on_children(TimePoint now) {
  while (const std::optional<bool> stopped = tree_.main_stopped_changed()) {
    listener_.on_stopped(*stopped);
  }
  count(now);
}

void Enforcer::stop(TimePoint now, const core::StopJob& order) {
  perform(fence_.step(now, order), now);
}

void Enforcer::front_gone(TimePoint now) {
  perform(fence_.step(now, core::FrontGone{}), now);
}

void Enforcer::forward_to_main(int signal) {
  tree_.signal_main(signal);
}

void Enforcer::forward_to_job(int signal) {
  tree_.signal_job(signal);
  tree_.signal_job(SIGCONT);
}

void Enforcer::perform(const core::FenceEffects& effects, TimePoint now) {
  for (const core::FenceEffect effect : effects) {
    switch (effect) {
      case core::FenceEffect::signal_job:
        forward_to_job(stop_signal_);
        break;
      case core::FenceEffect::signal_tree:
        tree_.signal_all(stop_signal_);
        tree_.signal_all(SIGCONT);
        break;
      case core::FenceEffect::kill_tree:
        tree_.kill_all();
        count(now);
        break;
      case core::FenceEffect::report_fenced:
        listener_.on_fenced();
        break;
      case core::FenceEffect::report_unkillable:
        listener_.on_unkillable(living());
        break;
      case core::FenceEffect::finish:
        listener_.on_over();
        break;
    }
  }
}

void Enforcer::count(TimePoint now) {
  const os::TreeCensus census = tree_.census();
  recount_at_ = TimePoint::never();
  if (census.main_ended && !census.tree_empty) {
    recount_pause_ = std::clamp(recount_pause_ * 2, kFirstRecount, kRecountMost);
    recount_at_ = now + recount_pause_;
  }
  if (tree_.main_end() && !told_end_) {
    told_end_ = true;
    listener_.on_ended(*tree_.main_end());
  }
  if (census.main_ended && !census.job_empty && !told_left_) {
    told_left_ = true;
    listener_.on_left(living());
  }
  perform(fence_.step(now, core::Census{.main_ended = census.main_ended,
                                        .job_empty = census.job_empty,
                                        .tree_empty = census.tree_empty}),
          now);
}

EnforcerListener::Pids Enforcer::living() {
  EnforcerListener::Pids pids;
  pids.count = tree_.living(pids.list.data(), pids.list.size());
  return pids;
}

TimePoint Enforcer::wakeup(const core::Deadlines& deadlines) const {
  return std::min(fence_.wakeup(deadlines), recount_at_);
}

}  // namespace redlock::app
