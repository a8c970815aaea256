#include "core/fence.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace redlock::core {
namespace {

// A fork that was under way when SIGKILL fell shows up within microseconds; what is left after
// many rounds is being torn down and will not be hurried.
constexpr int kQuickRounds = 50;
constexpr Duration kQuickRound = Duration::microseconds(200);
constexpr Duration kSlowRound = Duration::milliseconds(5);

}  // namespace

FenceEffects Fence::step(TimePoint now, const FenceInput& input) {
  now_ = now;
  effects_.clear();
  if (state_ != State::over) {
    std::visit([this](const auto& what) { on(what); }, input);
  }
  return std::exchange(effects_, {});
}

void Fence::on(const GuardTick& tick) {
  const bool newly_fenced = !fenced_ && tick.deadlines.stop <= now_;
  if (newly_fenced) {
    fenced_ = true;
    effects_.push_back(FenceEffect::report_fenced);
    stop_by(tick.deadlines.kill);
  }
  switch (state_) {
    case State::guarding:
    case State::stopping:
      // A published kill deadline counts even when a longer grace is running for another reason.
      if (std::min(kill_at_, tick.deadlines.kill) <= now_) {
        unkillable_at_ = now_ + patience_;
        kill();
      } else if (newly_fenced) {
        effects_.push_back(FenceEffect::signal_tree);
      }
      break;
    case State::killing:
      if (unkillable_at_ <= now_) {
        state_ = State::over;
        effects_.push_back(FenceEffect::report_unkillable);
      } else if (next_round_ <= now_) {
        kill();
      }
      break;
    case State::over:
      break;
  }
}

void Fence::on(const StopJob& stop) {
  if (state_ == State::killing) return;
  stop_by(stop.kill);
  // Without a grace it is SIGKILL at once, and nothing before it.
  if (stop.signal_job && stop.kill > now_) effects_.push_back(FenceEffect::signal_job);
}

void Fence::on(const FrontGone&) {
  if (state_ == State::killing) return;
  if (!fenced_ && grace_ > Duration()) effects_.push_back(FenceEffect::signal_tree);
  stop_by(now_ + grace_);
}

void Fence::on(const Census& census) {
  // Once anything has to be stopped, COMMAND's own end is not enough: what it left behind would
  // outlive the lease.
  const bool over =
      state_ == State::guarding ? census.main_ended && census.job_empty : census.tree_empty;
  if (!over) return;
  state_ = State::over;
  effects_.push_back(FenceEffect::finish);
}

void Fence::stop_by(TimePoint kill) {
  if (state_ == State::guarding) state_ = State::stopping;
  kill_at_ = std::min(kill_at_, kill);
}

void Fence::kill() {
  state_ = State::killing;
  next_round_ = now_ + (rounds_ < kQuickRounds ? kQuickRound : kSlowRound);
  ++rounds_;
  effects_.push_back(FenceEffect::kill_tree);
}

TimePoint Fence::wakeup(const Deadlines& deadlines) const {
  switch (state_) {
    case State::guarding:
      return std::min(deadlines.stop, deadlines.kill);
    case State::stopping: {
      const TimePoint kill = std::min(kill_at_, deadlines.kill);
      return fenced_ ? kill : std::min(kill, deadlines.stop);
    }
    case State::killing:
      return std::min(next_round_, unkillable_at_);
    case State::over:
      return TimePoint::never();
  }
  RR_ASSERT(false);
  return TimePoint::never();
}

}  // namespace redlock::core
