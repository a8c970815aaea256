// The life of a lease up to Granted: attempts, votes, undoing a failed attempt, pauses.
#include <algorithm>

#include "base/assert.h"
#include "core/lease.h"

namespace redlock::core {
namespace {

/// A wait that has run out leaves this much time for taking back the last attempt.
constexpr Duration kLastClearing = Duration::milliseconds(100);
/// The key of a holder that died is gone this long after its ttl at the latest; rivals that wait
/// for the same instant spread over the span.
constexpr Duration kAfterExpiryLeast = Duration::milliseconds(1);
constexpr Duration kAfterExpiryMost = Duration::milliseconds(20);

}  // namespace

void Lease::begin_attempt() {
  state_ = State::acquiring;
  attempt_ = Attempt(attempt_.get() + 1);
  fence_ = FencingToken();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    node.holds = false;
    node.answered = false;
    node.denies = false;
    node.raise_asked = FencingToken();
    node.hopeless = false;
    node.lease_end = TimePoint::past();
    node.counter = FencingToken();
    // A server that has not answered the attempt before is silent in this one too, until it does.
    node.report.silent = node.question || node.giving_back;
    ask_acquire(i);
  }
  judge_attempt();
}

void Lease::ask_acquire(std::size_t index) {
  NodeState& node = nodes_[index];
  if (node.question || node.giving_back || node.answered) return;
  node.report = {};
  send(index, RequestKind::acquire, attempt_);
}

void Lease::note_acquire_answer(NodeState& node, const Flight& flight, const Outcome& outcome) {
  const bool executed_nowhere = outcome.answer == Answer::unknown && flight.on_wire.is_never();
  const bool denied = outcome.answer == Answer::held || outcome.answer == Answer::refused ||
                      outcome.answer == Answer::misconfigured;
  if ((executed_nowhere || denied) && node.carried == flight.attempt) node.may_carry = false;
  if (flight.attempt != attempt_) return;
  node.answered = true;
  note_said(node, outcome);
  if (outcome.answer == Answer::held) last_held_ = node.report;
  // A release stands behind the answer already: what it granted is not to be counted.
  if (outcome.answer != Answer::granted || node.giving_back) return;
  const bool counts = state_ == State::acquiring || state_ == State::held;
  if (!counts) return;
  const TimePoint before = valid_until();
  node.holds = true;
  node.lease_end = lease_end(flight.sent, config_.timing);
  node.counter = outcome.fence;
  node.ask_again_at = flight.sent + config_.timing.renew_interval;
  if (state_ == State::held) judge_lease(before);
}

void Lease::mark_silent() {
  for (NodeState& node : nodes_) {
    if (!node.question || node.question->on_wire.is_never()) continue;
    if (node.question->on_wire + config_.timing.node_timeout <= now_) node.report.silent = true;
  }
}

/// An attempt ends as soon as nothing that is still out can change its verdict.
void Lease::judge_attempt() {
  std::size_t holding = 0;
  std::size_t held = 0;
  std::size_t open = 0;
  for (const NodeState& node : nodes_) {
    if (node.holds) ++holding;
    if (node.answered && node.report.answer == Answer::held) ++held;
    if (!node.answered && !node.report.silent) ++open;
  }
  if (holding >= quorum()) {
    grant_or_raise();
    return;
  }
  const bool grant_possible = holding + open >= quorum();
  const bool held_possible = held < quorum() && held + open >= quorum();
  if (grant_possible && open > 0) return;
  if (held_possible && open > 0) return;
  const Refusal why = refusal_of_votes();
  const bool split = why == Refusal::unavailable && holding + held >= quorum();
  fail_attempt(why, split || worth_another_try());
}

Refusal Lease::refusal_of_votes() const {
  const auto saying = [this](Answer answer) {
    return static_cast<std::size_t>(std::count_if(
        nodes_.begin(), nodes_.end(),
        [answer](const NodeState& node) { return node.answered && node.report.answer == answer; }));
  };
  const std::size_t blocking = nodes_.size() - quorum() + 1;
  if (saying(Answer::held) >= quorum()) return Refusal::held;
  if (saying(Answer::misconfigured) >= blocking) return Refusal::misconfigured;
  if (saying(Answer::refused) >= blocking) return Refusal::denied;
  return Refusal::unavailable;
}

/// A server that answers but cannot now, or whose connection broke under the question, may be in
/// the middle of a restart or failover.
bool Lease::worth_another_try() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const NodeState& node) {
    const bool broke = node.report.answer == Answer::unknown && node.may_carry;
    return node.answered && (node.report.answer == Answer::failed || broke);
  });
}

/// The job may start when a quorum of the servers that hold our key have a counter of at least the
/// largest one seen on them: the next holder shares one of those servers with us and counts on from
/// there. Taking the largest without raising the others, or raising servers that do not hold our
/// key, gives duplicates.
void Lease::grant_or_raise() {
  for (const NodeState& node : nodes_) {
    if (node.holds) fence_ = std::max(fence_, node.counter);
  }
  std::size_t agreeing = 0;
  std::size_t possible = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    if (node.holds && node.counter >= fence_) {
      ++agreeing;
    } else if (node.holds && !node.question && node.raise_asked < fence_) {
      node.raise_asked = fence_;
      send(i, RequestKind::renew, attempt_);
    }
    const bool open = node.question ? !node.report.silent : !node.answered && !node.report.silent;
    if (open) ++possible;
  }
  if (agreeing >= quorum()) {
    const TimePoint stop = deadlines_for(valid_until(), config_.timing).stop;
    if (stop - now_ < config_.timing.renew_interval) {
      fail_attempt(Refusal::unavailable, true);
      return;
    }
    state_ = State::held;
    effects_.emplace_back(
        Granted{.attempt = attempt_, .valid_until = valid_until(), .fence = fence_});
  } else if (agreeing + possible < quorum()) {
    fail_attempt(Refusal::unavailable, true);
  }
}

void Lease::fail_attempt(Refusal why, bool undecided) {
  last_refusal_ = why;
  undecided_ = undecided;
  if (why == Refusal::held) seen_held_ = true;
  state_ = State::clearing;
  const Duration limit = give_up_at_ <= now_ ? kLastClearing : config_.timing.node_timeout;
  phase_end_ = now_ + limit;
  for (NodeState& node : nodes_) node.ask_again_at = now_;
  give_back_due();
  if (nothing_to_wait_for()) finish_clearing();
}

void Lease::finish_clearing() {
  const bool final = last_refusal_ == Refusal::denied || last_refusal_ == Refusal::misconfigured;
  const bool waiting = config_.wait > Duration();
  const bool try_again = waiting ? now_ < give_up_at_ : undecided_ && now_ < undecided_until_;
  if (final || !try_again) {
    state_ = State::ended;
    const bool held = !final && seen_held_;
    effects_.emplace_back(GaveUp{held ? Refusal::held : last_refusal_});
    return;
  }
  TimePoint next = now_ + backoff_.next(draw_);
  if (last_refusal_ == Refusal::held) {
    const Duration jitter = draw_between(draw_, kAfterExpiryLeast, kAfterExpiryMost);
    next = std::min(next, now_ + until_quorum_expires() + jitter);
  }
  pause_until(std::min(next, waiting ? give_up_at_ : undecided_until_));
}

void Lease::pause_until(TimePoint when) {
  state_ = State::pausing;
  phase_end_ = when;
}

/// Until so many of the keys in the way have run out that a quorum would be free.
Duration Lease::until_quorum_expires() const {
  std::vector<Duration> remaining;
  for (const NodeState& node : nodes_) {
    const bool in_the_way = node.answered && node.report.answer == Answer::held;
    remaining.push_back(in_the_way ? node.report.remaining : Duration());
  }
  const auto nth = remaining.begin() + static_cast<std::ptrdiff_t>(quorum() - 1);
  std::nth_element(remaining.begin(), nth, remaining.end());
  return std::max(*nth, Duration());
}

TimePoint Lease::acquiring_wakeup() const {
  TimePoint when = give_up_at_;
  for (const NodeState& node : nodes_) {
    if (!node.question || node.report.silent || node.question->on_wire.is_never()) continue;
    when = std::min(when, node.question->on_wire + config_.timing.node_timeout);
  }
  return when;
}

}  // namespace redlock::core
