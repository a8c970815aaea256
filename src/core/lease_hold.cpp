// Holding: rounds of renewals, healing of servers that lost or never had the key, loss.
//
// Every renew_interval a round begins: all servers that hold the key are asked to renew it. One
// that fails is asked again within the round; one that has lost the key is asked to take it again
// as soon as enough others have renewed it, and one that never had it soon, see invariant (6):
// until then the lease may stand on a bare quorum, of which none can be spared.
#include <algorithm>

#include "base/assert.h"
#include "core/lease.h"

namespace redlock::core {

/// Rounds that are begun early, for the confirmations of others, keep this distance at least.
Duration Lease::least_between_rounds() const {
  return std::min(Duration::milliseconds(100), config_.timing.ttl / 50);
}

void Lease::keep_up() {
  if (next_round_at_ <= now_) begin_round();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    if (node.question || node.giving_back || node.report.twin) continue;
    const bool again = node.ask_again_at <= now_;
    if (node.holds && (node.renewed_in < round_ || again)) {
      node.renewed_in = round_;
      node.ask_again_at = TimePoint::never();
      send(i, RequestKind::renew, attempt_);
    } else if (!node.holds && may_heal(node) && (again || is_due_for_healing(node))) {
      node.healed_in = round_;
      node.ask_again_at = TimePoint::never();
      send(i, kind_of_wish(node), attempt_);
    }
  }
}

/// Once a round; where the confirmations of the round are needed or help, when they are there.
bool Lease::is_due_for_healing(const NodeState& node) const {
  if (node.healed_in >= round_) return false;
  return node.missing == TimePoint::past() || confirmations(node) >= quorum();
}

/// How a server without our key is asked to take it. One that has not lost it may have voted for a
/// rival; if it forgets that, its youth outlasts the vote, so it is asked in a way that a young
/// server refuses. With confirmations it is healed whatever its age; but what waits for a
/// connection may meet a server that has forgotten more meanwhile, so without one it is asked what
/// it has.
RequestKind Lease::kind_of_wish(const NodeState& node) const {
  const bool confirmed = node.missing > TimePoint::past() && confirmations(node) >= quorum();
  if (confirmed && node.up) return RequestKind::heal;
  return node.denies ? RequestKind::renew : RequestKind::acquire;
}

void Lease::begin_round() {
  ++round_;
  round_began_ = now_;
  next_round_at_ = now_ + config_.timing.renew_interval;
}

/// How many servers have renewed the key in this round by requests that were sent no earlier than
/// the one that found it missing on `missing`, which does not hold it and so is none of them.
std::size_t Lease::confirmations(const NodeState& missing) const {
  const TimePoint since = std::max(round_began_, missing.missing);
  return static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(),
      [since](const NodeState& node) { return node.holds && node.confirmed >= since; }));
}

/// While the lease is valid a quorum of others has the key; where one was lost this has to be seen
/// anew.
bool Lease::may_heal(const NodeState& node) const {
  return !node.denies || confirmations(node) >= quorum();
}

void Lease::note_renew_answer(NodeState& node, const Flight& flight, const Outcome& outcome) {
  if (flight.attempt != attempt_) return;  // of an attempt that was given up meanwhile
  const TimePoint before = valid_until();
  note_said(node, outcome);
  switch (outcome.answer) {
    case Answer::granted:
      // It may turn out to have had it all along, where the answer to its acquisition was lost.
      node.holds = true;
      node.denies = false;
      node.foreign = false;
      node.lease_end = std::max(node.lease_end, lease_end(flight.sent, config_.timing));
      node.confirmed = flight.sent;
      node.errors = 0;
      // To what it was asked for, which may be less than what is wanted by now.
      if (outcome.raised) node.counter = std::max(node.counter, flight.fence);
      break;
    case Answer::held:
    case Answer::foreign:
    case Answer::gone:
      node.holds = false;
      node.denies = true;
      node.foreign = outcome.answer != Answer::gone;
      node.may_carry = false;
      node.lease_end = TimePoint::past();
      node.missing = flight.sent;
      node.ask_again_at = TimePoint::never();
      break;
    case Answer::young:
    case Answer::failed:
    case Answer::refused:
    case Answer::misconfigured:
    case Answer::misplaced:
    case Answer::unknown:
      // Not a loss: the server may still have the key, and lease_end says for how long.
      ask_again_later(node);
      break;
  }
  if (state_ != State::held) return;
  if (node.missing == flight.sent) want_confirmations(flight);
  judge_lease(before);
}

/// A key goes back with the confirmations of this round if they can still come, else with those of
/// a round of its own.
void Lease::want_confirmations(const Flight& found_missing) {
  // The acquisition, round 0, confirms nothing.
  if (round_ > 0 && round_began_ >= found_missing.sent) return;
  next_round_at_ = std::min(next_round_at_, std::max(now_, round_began_ + least_between_rounds()));
}

void Lease::note_heal_answer(std::size_t index, const Flight& flight, const Outcome& outcome) {
  NodeState& node = nodes_[index];
  switch (outcome.answer) {
    case Answer::granted: {
      if (const std::optional<std::size_t> twin = twin_of(index)) {
        // Its vote is the other's; so is its key, which the other will release.
        node.report.twin = NodeIndex(*twin);
        node.may_carry = false;
        return;
      }
      const TimePoint before = valid_until();
      take(node, flight, outcome);
      judge_lease(before);
      break;
    }
    case Answer::held:
    case Answer::foreign:
    case Answer::gone:
      // Perhaps of a rival that is about to give it back.
      node.foreign = true;
      ask_again_later(node);
      break;
    case Answer::young:
      want_confirmations(flight);
      ask_again_later(node);
      break;
    case Answer::failed:
    case Answer::refused:
    case Answer::misconfigured:
    case Answer::misplaced:
    case Answer::unknown:
      ask_again_later(node);
      break;
  }
}

/// Soon, as long as the server's answer may be needed; less and less often, down to once a round,
/// when it keeps failing and a quorum confirms the lease without it. A rival's key may be gone at
/// any moment, and come again: it is looked for more often.
void Lease::ask_again_later(NodeState& node) {
  const Duration pause = retry_pause();
  const int doublings = std::min(node.errors, node.report.answer == Answer::held ? 2 : 8);
  ++node.errors;
  const bool needed = confirmations(node) < quorum();
  const TimePoint when = now_ + (needed ? pause : pause * (std::int64_t{1} << doublings));
  node.ask_again_at = when < next_round_at_ ? when : TimePoint::never();
}

void Lease::judge_lease(TimePoint before) {
  std::size_t denials = 0;
  bool foreign = false;
  for (const NodeState& node : nodes_) {
    if (!node.denies) continue;
    ++denials;
    foreign = foreign || node.foreign;
  }
  const TimePoint until = valid_until();
  if (denials > nodes_.size() - quorum()) {
    state_ = State::lost;
    effects_.emplace_back(Lost{foreign ? Loss::foreign : Loss::gone});
  } else if (until <= now_) {
    state_ = State::lost;
    // If it was just valid, it is one server's denial that ended it before its time.
    const Loss denied = foreign ? Loss::foreign : Loss::gone;
    effects_.emplace_back(Lost{before > now_ ? denied : Loss::expired});
  } else if (until != before) {
    effects_.emplace_back(Extended{until});
  }
}

TimePoint Lease::held_wakeup() const {
  TimePoint when = valid_until();
  for (const NodeState& node : nodes_) {
    if (node.question || node.giving_back || node.report.twin) continue;
    when = std::min(when, next_round_at_);
    if (node.holds || may_heal(node)) when = std::min(when, node.ask_again_at);
  }
  return when;
}

}  // namespace redlock::core
