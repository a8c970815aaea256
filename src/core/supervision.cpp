#include "core/supervision.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/assert.h"

namespace redlock::core {
namespace {

/// Longer than a guard waits for what it has killed (app/guard_process.cpp).
constexpr Duration kGuardPatience = Duration::seconds(3);
constexpr Duration kReleaseLimit = Duration::seconds(2);
/// After a fence, or when somebody wants us gone: the ttl does the rest.
constexpr Duration kShortReleaseLimit = Duration::seconds(1);

Ending ending_of(Refusal why) {
  switch (why) {
    case Refusal::held:
    case Refusal::contended:
      return Ending::held;
    case Refusal::unavailable:
      return Ending::unavailable;
    case Refusal::denied:
      return Ending::denied;
    case Refusal::misconfigured:
      return Ending::misconfigured;
  }
  RR_ASSERT(false);
  return Ending::unavailable;
}

/// Asks for the end, by convention; the others are messages to COMMAND.
bool asks_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
}

}  // namespace

SupervisionEffects Supervision::step(TimePoint now, const SupervisionInput& input) {
  now_ = now;
  effects_.clear();
  if (state_ != State::done) {
    std::visit([this](const auto& what) { on(what); }, input);
  }
  return std::exchange(effects_, {});
}

bool Supervision::has_command() const {
  switch (state_) {
    case State::running:
    case State::stopping:
    case State::killing:
      return true;
    case State::waiting:
    case State::releasing:
    case State::done:
      return false;
  }
  RR_ASSERT(false);
  return false;
}

void Supervision::on(const Granted& granted) {
  if (state_ != State::waiting) return;  // withdrawn meanwhile: keeps (1)
  state_ = State::running;
  deadlines_ = deadlines_for(granted.valid_until, config_.timing);
  effects_.emplace_back(Spawn{granted.attempt, granted.fence, deadlines_});
}

void Supervision::on(const Extended& extended) {
  // After a loss the deadlines stand still; the guard would not take later ones either.
  if (!has_command() || lost_) return;
  const Deadlines fresh = deadlines_for(extended.valid_until, config_.timing);
  const bool nearer = fresh.stop < deadlines_.stop;
  deadlines_ = fresh;
  effects_.emplace_back(Publish{deadlines_, nearer});
}

void Supervision::on(const Lost& lost) {
  if (!has_command() || lost_) return;
  lost_ = true;
  if (state_ == State::running) state_ = State::stopping;
  // Expired leases have crossed the guard's deadlines already. A proven loss means that somebody
  // else may run now, so there is nothing to wait for but the grace.
  if (lost.why == Loss::expired) return;
  deadlines_.stop = now_;
  deadlines_.kill = std::min(deadlines_.kill, now_ + config_.timing.kill_after);
  effects_.emplace_back(Publish{deadlines_, true});
}

void Supervision::on(const GaveUp& gave_up) {
  if (state_ != State::waiting) return;
  finish({.ending = ending_of(gave_up.why)});
}

void Supervision::on(const Released&) {
  if (state_ == State::releasing) finish(verdict_);
}

void Supervision::on(const Started&) {
  if (!has_command()) return;
  started_ = true;
  // What the guard was told before it had a job to stop, it does now.
  if (!stop_kill_.is_never()) stop_kill_ = std::max(stop_kill_, now_);
  max_run_at_ = now_ + config_.max_run;
}

void Supervision::on(const ExecFailed& failed) {
  if (has_command()) {
    release({.ending = Ending::not_executable, .value = failed.error}, kReleaseLimit);
  }
}

void Supervision::on(const StartDeclined&) {
  if (!has_command()) return;
  if (asked_to_end_ != 0) {
    release({.ending = Ending::interrupted, .value = asked_to_end_}, kShortReleaseLimit);
    return;
  }
  // Nothing ran, so nothing was lost.
  state_ = State::waiting;
  lost_ = false;
  guard_killed_ = false;
  effects_.emplace_back(TryAgain{});
}

void Supervision::on(const StartFailed& failed) {
  if (has_command()) {
    release({.ending = Ending::not_started, .value = failed.error}, kReleaseLimit);
  }
}

void Supervision::on(const CommandEnded& ended) {
  if (has_command()) status_ = ended.status;
}

void Supervision::on(const JobOver&) {
  if (!has_command()) return;
  if (lost_) {
    release({.ending = Ending::lost}, kShortReleaseLimit);
  } else if (max_run_reached_) {
    release({.ending = Ending::max_run}, kReleaseLimit);
  } else {
    RR_ASSERT(status_);
    release({.ending = status_->signalled ? Ending::command_killed : Ending::command_exited,
             .value = status_->value,
             .dumped_core = status_->dumped_core},
            kReleaseLimit);
  }
}

void Supervision::on(const Fenced&) {
  if (!has_command()) return;
  lost_ = true;
  if (state_ == State::running) state_ = State::stopping;
}

void Supervision::on(const Unkillable&) {
  // What could not be killed may still work: the key stays until its ttl, keeps (2).
  if (has_command()) finish({.ending = Ending::survivors});
}

void Supervision::on(const GuardDied&) {
  if (!has_command()) return;
  lost_ = true;
  state_ = State::killing;
  effects_.emplace_back(KillTree{});
}

void Supervision::on(const CommandStopped&) {
  // With a process group of its own it was not the terminal that stopped it, and no shell waits
  // for us to stop.
  if (state_ == State::running && config_.shares_terminal) effects_.emplace_back(SuspendSelf{});
}

void Supervision::on(const SignalArrived& signal) {
  switch (state_) {
    case State::waiting:
      if (signal.number == SIGTSTP) {
        effects_.emplace_back(SuspendSelf{});
      } else if (asks_to_end(signal.number) || signal.number == SIGHUP) {
        release({.ending = Ending::interrupted, .value = signal.number}, kShortReleaseLimit);
      }
      break;
    case State::running:
      pass_on(signal);
      break;
    case State::releasing:
      // The first is patience asked for too late; the second is meant.
      if (!asks_to_end(signal.number) && signal.number != SIGHUP) break;
      if (std::exchange(signalled_in_release_, true)) effects_.emplace_back(Abandon{});
      break;
    case State::stopping:
      // The end is coming; --max-run leaves COMMAND its grace and its signals, a loss does not.
      if (!lost_) pass_on(signal);
      break;
    case State::killing:
    case State::done:
      break;
  }
}

void Supervision::pass_on(const SignalArrived& signal) {
  // What COMMAND sends to us is not bounced back to it.
  if (signal.from_tree) return;
  // The terminal gave it to the whole foreground group: COMMAND has it already.
  if (signal.from_kernel && config_.shares_terminal) return;
  switch (signal.number) {
    case SIGTERM:
    case SIGINT:
    case SIGQUIT:
      if (!started_) asked_to_end_ = signal.number;
      effects_.emplace_back(Forward{signal.number, Recipient::job});
      if (config_.kill_after_signal) stop_job(false);
      break;
    case SIGTSTP:
      // In a group of its own COMMAND is orphaned, and the kernel would discard it.
      if (config_.shares_terminal) effects_.emplace_back(Forward{signal.number, Recipient::main});
      break;
    case SIGCONT:
    case SIGTTIN:
    case SIGTTOU:
    case SIGPIPE:
    case SIGURG:
    case SIGCHLD:
      break;
    default:
      effects_.emplace_back(Forward{signal.number, Recipient::main});
      break;
  }
}

void Supervision::on(const Tick&) {
  if (!has_command()) return;
  if (guard_overdue_at() <= now_) {
    guard_killed_ = true;
    effects_.emplace_back(KillGuard{});
  }
  if (max_run_reached_ || max_run_at_ > now_) return;
  max_run_reached_ = true;
  if (state_ != State::running) return;
  state_ = State::stopping;
  stop_job(true);
}

/// Before a lease expires half of the margin is the guard's, to be late and to kill in; the other
/// half is ours. For other reasons to stop it may take the time until it has to report survivors.
TimePoint Supervision::guard_overdue_at() const {
  if (!has_command() || guard_killed_ || state_ == State::killing) return TimePoint::never();
  if (!started_) return deadlines_.stop;
  return std::min(deadlines_.kill + config_.timing.kill_margin / 2,
                  stop_kill_ + config_.timing.kill_margin + kGuardPatience);
}

void Supervision::stop_job(bool signal_job) {
  const TimePoint kill = now_ + config_.timing.kill_after;
  stop_kill_ = std::min(stop_kill_, kill);
  effects_.emplace_back(StopJob{.kill = kill, .signal_job = signal_job});
}

void Supervision::release(Verdict verdict, Duration limit) {
  verdict_ = verdict;
  state_ = State::releasing;
  effects_.emplace_back(GiveBack{limit});
}

void Supervision::finish(Verdict verdict) {
  state_ = State::done;
  effects_.emplace_back(Finish{verdict});
}

TimePoint Supervision::wakeup() const {
  const bool armed = has_command() && started_ && !max_run_reached_;
  return std::min(armed ? max_run_at_ : TimePoint::never(), guard_overdue_at());
}

}  // namespace redlock::core
