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
/// A rival that lost gives back what it got within moments: from then on a bare quorum is none.
constexpr Duration kAfterRivalLeast = Duration::milliseconds(5);
constexpr Duration kAfterRivalMost = Duration::milliseconds(25);
/// When a quorum has granted, the others are listened to for this fraction of the time that took:
/// most of them follow at once, mistakes in the list show, and it is too short to be felt.
constexpr std::int64_t kStragglerFraction = 8;
constexpr Duration kStragglersLeast = Duration::microseconds(500);
constexpr Duration kStragglersMost = Duration::milliseconds(20);

}  // namespace

void Lease::begin_attempt() {
  state_ = State::acquiring;
  attempt_ = Attempt(attempt_.get() + 1);
  attempt_began_ = now_;
  stragglers_until_ = TimePoint::never();
  fence_ = FencingToken();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    node.holds = false;
    node.answered = false;
    node.denies = false;
    node.foreign = false;
    node.hopeless = false;
    node.counter = FencingToken();
    node.raise_asked = FencingToken();
    node.lease_end = TimePoint::past();
    node.confirmed = TimePoint::past();
    node.missing = TimePoint::past();
    node.errors = 0;
    // A server that has not answered the attempt before is silent in this one too, until it does.
    node.report.silent = node.question || node.giving_back;
    ask_acquire(i);
  }
  judge_attempt();
}

void Lease::ask_acquire(std::size_t index) {
  NodeState& node = nodes_[index];
  if (node.question || node.giving_back || node.answered) return;
  const bool hidden = node.report.uptime_hidden;
  node.report = {};
  node.report.uptime_hidden = hidden;
  send(index, RequestKind::acquire, attempt_);
}

void Lease::note_acquire_answer(std::size_t index, const Flight& flight, const Outcome& outcome) {
  NodeState& node = nodes_[index];
  const bool denied = outcome.answer == Answer::held || outcome.answer == Answer::young ||
                      outcome.answer == Answer::refused ||
                      outcome.answer == Answer::misconfigured ||
                      outcome.answer == Answer::misplaced;
  if (denied && node.carried == flight.attempt) node.may_carry = false;
  if (flight.attempt != attempt_) return;
  node.answered = true;
  if (!outcome.server.empty()) node.server = outcome.server;
  // It has no key, and may have forgotten one.
  if (outcome.answer == Answer::young) node.missing = flight.sent;
  note_said(node, outcome);
  if (state_ == State::held) {
    note_heal_answer(index, flight, outcome);
  } else if (state_ == State::acquiring) {
    if (outcome.answer == Answer::held) last_held_ = node.report;
    if (outcome.answer == Answer::granted) take(node, flight, outcome);
  }
}

/// The server has our key, by an answer that came while that matters.
void Lease::take(NodeState& node, const Flight& flight, const Outcome& outcome) {
  // A release stands behind the answer already: what it granted is not to be counted.
  if (node.giving_back) return;
  node.holds = true;
  node.denies = false;
  node.foreign = false;
  node.errors = 0;
  node.lease_end = std::max(node.lease_end, lease_end(flight.sent, config_.timing));
  node.counter = outcome.fence;
  // What was asked before this round began is renewed in it, like all others.
  node.renewed_in = flight.sent >= round_began_ ? round_ : 0;
  node.ask_again_at = TimePoint::never();
}

void Lease::mark_silent() {
  for (NodeState& node : nodes_) {
    if (silent_at(node) <= now_) node.report.silent = true;
  }
}

/// When a server that owes an answer counts as silent; never() if it owes none. A connection may
/// take longer than an answer, but not where somebody else holds a part: what we hold of the rest
/// is in the holder's way, who may need it.
TimePoint Lease::silent_at(const NodeState& node) const {
  if (!node.question || node.report.silent) return TimePoint::never();
  const TimePoint since = node.question->on_wire;
  if (!since.is_never()) return since + config_.timing.node_timeout;
  return held_by_one() > 0 ? attempt_began_ + config_.timing.node_timeout : TimePoint::never();
}

/// An attempt ends as soon as nothing that is still out can change its verdict.
void Lease::judge_attempt() {
  if (list_is_wrong()) {
    fail_attempt(Refusal::misconfigured, false);
    return;
  }
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
  const bool held_possible = held_by_one() < quorum() && held_by_one() + open >= quorum();
  if (open > 0 && (grant_possible || held_possible)) return;
  const Refusal why = refusal_of_votes();
  if (why == Refusal::unavailable && holding + held >= quorum()) {
    fail_attempt(Refusal::contended, true);
  } else {
    fail_attempt(why, worth_another_try());
  }
}

/// A mistake that is certain: one server named twice would vote twice, and a Sentinel never votes.
bool Lease::list_is_wrong() {
  bool wrong = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    if (!node.answered) continue;
    const std::optional<std::size_t> twin = twin_of(i);
    if (twin) node.report.twin = NodeIndex(*twin);
    wrong = wrong || twin || node.report.answer == Answer::misplaced;
  }
  return wrong;
}

/// How many servers are held by the same other holder.
std::size_t Lease::held_by_one() const {
  std::size_t most = 0;
  for (const NodeState& one : nodes_) {
    if (!one.answered || one.report.answer != Answer::held) continue;
    const auto same = static_cast<std::size_t>(
        std::count_if(nodes_.begin(), nodes_.end(), [&one](const NodeState& node) {
          return node.answered && node.report.answer == Answer::held &&
                 node.report.holder_id == one.report.holder_id;
        }));
    most = std::max(most, same);
  }
  return most;
}

Refusal Lease::refusal_of_votes() const {
  const auto saying = [this](Answer answer) {
    return static_cast<std::size_t>(std::count_if(
        nodes_.begin(), nodes_.end(),
        [answer](const NodeState& node) { return node.answered && node.report.answer == answer; }));
  };
  const std::size_t blocking = nodes_.size() - quorum() + 1;
  if (held_by_one() >= quorum()) return Refusal::held;
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
  if (waits_for_stragglers()) return;
  for (const NodeState& node : nodes_) {
    if (node.holds) fence_ = std::max(fence_, node.counter);
  }
  std::size_t agreeing = 0;
  std::size_t possible = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    ask_to_raise(i);
    const NodeState& node = nodes_[i];
    if (node.holds && node.counter >= fence_) {
      ++agreeing;
      continue;
    }
    const bool open = node.question || !node.answered;
    if (open && !node.report.silent) ++possible;
  }
  if (agreeing >= quorum()) {
    grant();
  } else if (agreeing + possible < quorum()) {
    fail_attempt(Refusal::unavailable, true);
  }
}

void Lease::ask_to_raise(std::size_t index) {
  NodeState& node = nodes_[index];
  if (!node.holds || node.question || node.counter >= fence_ || node.raise_asked >= fence_) return;
  node.raise_asked = fence_;
  send(index, RequestKind::renew, attempt_);
}

bool Lease::waits_for_stragglers() {
  if (stragglers_until_.is_never()) {
    const Duration share = (now_ - attempt_began_) / kStragglerFraction;
    stragglers_until_ = now_ + std::clamp(share, kStragglersLeast, kStragglersMost);
  }
  const bool patient = now_ < stragglers_until_;
  // Without a connection a server cannot be about to answer.
  return std::any_of(nodes_.begin(), nodes_.end(), [patient](const NodeState& node) {
    return node.up && !node.answered && !node.report.silent && (patient || node.doubtful);
  });
}

void Lease::grant() {
  const TimePoint stop = deadlines_for(valid_until(), config_.timing).stop;
  if (stop - now_ < config_.timing.renew_interval) {
    fail_attempt(Refusal::unavailable, true);
    return;
  }
  state_ = State::held;
  round_ = 0;
  round_began_ = attempt_began_;
  next_round_at_ = attempt_began_ + config_.timing.renew_interval;
  for (NodeState& node : nodes_) {
    node.renewed_in = 0;
    node.healed_in = 0;
    node.ask_again_at = TimePoint::never();
    if (!node.answered || node.holds) continue;
    // A young server takes the key with the confirmations of a round, which does not wait for it.
    if (node.report.answer == Answer::young) {
      next_round_at_ = attempt_began_ + least_between_rounds();
      continue;
    }
    const bool rival = node.report.answer == Answer::held;
    node.ask_again_at =
        now_ + (rival ? draw_between(draw_, kAfterRivalLeast, kAfterRivalMost) : retry_pause());
  }
  effects_.emplace_back(
      Granted{.attempt = attempt_, .valid_until = valid_until(), .fence = fence_});
}

void Lease::fail_attempt(Refusal why, bool undecided) {
  last_refusal_ = why;
  undecided_ = undecided;
  if (why == Refusal::held || why == Refusal::contended) seen_held_ = true;
  state_ = State::clearing;
  const Duration limit = give_up_at_ <= now_ ? kLastClearing : config_.timing.node_timeout;
  begin_giving_back(now_ + limit, Duration());
  if (nothing_to_wait_for()) finish_clearing();
}

void Lease::finish_clearing() {
  const bool final = last_refusal_ == Refusal::denied || last_refusal_ == Refusal::misconfigured;
  const bool waiting = config_.wait > Duration();
  const bool try_again = waiting ? now_ < give_up_at_ : undecided_ && now_ < undecided_until_;
  if (final || !try_again) {
    state_ = State::ended;
    const bool by_one = last_refusal_ == Refusal::contended;
    const bool held = !final && !by_one && seen_held_;
    effects_.emplace_back(GaveUp{held ? Refusal::held : last_refusal_});
    return;
  }
  TimePoint next = now_ + backoff_.next(draw_);
  if (last_refusal_ == Refusal::held) {
    const Duration jitter = draw_between(draw_, kAfterExpiryLeast, kAfterExpiryMost);
    next = std::min(next, now_ + until_quorum_expires() + jitter);
  }
  state_ = State::pausing;
  phase_end_ = std::min(next, waiting ? give_up_at_ : undecided_until_);
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
  if (stragglers_until_ > now_) when = std::min(when, stragglers_until_);
  for (const NodeState& node : nodes_) {
    when = std::min(when, silent_at(node));
  }
  return when;
}

}  // namespace redlock::core
