// Giving back: after a failed attempt, and at the end.
#include <algorithm>

#include "core/lease.h"

namespace redlock::core {

void Lease::begin_giving_back(TimePoint end, Duration patience) {
  phase_end_ = end;
  patient_until_ = now_ + patience;
  for (NodeState& node : nodes_) {
    node.ask_again_at = now_;
    node.try_failed = false;
  }
  give_back_due();
}

/// It may have a key of ours, or what would set one waits for a connection.
bool Lease::needs_release(const NodeState& node) {
  return node.may_carry || (node.question && sets_key(node.question->kind));
}

void Lease::give_back_due() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    if (!needs_release(node) || node.hopeless || node.giving_back) continue;
    const bool behind = node.question && sets_key(node.question->kind);
    const Attempt attempt = behind ? node.question->attempt : node.carried;
    if (node.ask_again_at <= now_) send(i, RequestKind::release, attempt);
  }
}

void Lease::note_release_answer(NodeState& node, const Flight& flight, const Outcome& outcome) {
  // A later attempt's key may have come behind it.
  const bool of_what_it_carries = flight.attempt == node.carried;
  switch (outcome.answer) {
    case Answer::granted:
      if (of_what_it_carries) node.may_carry = false;
      break;
    case Answer::held:
    case Answer::foreign:
    case Answer::gone:
      if (of_what_it_carries) node.may_carry = false;
      if (node.holds) untouched_ = false;
      break;
    case Answer::young:
    case Answer::failed:
    case Answer::unknown:
      note_said(node, outcome);
      node.try_failed = true;
      node.ask_again_at = now_ + retry_pause();
      break;
    case Answer::refused:
    case Answer::misconfigured:
    case Answer::misplaced:
      note_said(node, outcome);
      node.hopeless = true;
      break;
  }
}

/// How long one is waited for that answered until now, once the lock is free: it may have frozen.
Duration Lease::patience_most() const {
  return std::min(Duration::milliseconds(200), config_.timing.node_timeout);
}

/// Not worth waiting for once the lock is free: its release is on the wire behind a question that
/// it has not answered yet, and is executed without us; or nothing of ours has ever left for it; or
/// it had its chance.
bool Lease::is_laggard(const NodeState& node) const {
  if (!node.giving_back) return node.try_failed;
  if (node.giving_back->sent + patience_most() <= now_) return true;
  return node.giving_back->on_wire.is_never() ? !node.may_carry : node.question.has_value();
}

bool Lease::nothing_to_wait_for() const {
  std::size_t free = 0;
  bool all_laggards = true;
  bool waiting = false;
  for (const NodeState& node : nodes_) {
    if (!node.may_carry) ++free;
    if (!needs_release(node) || node.hopeless) continue;
    waiting = true;
    all_laggards = all_laggards && is_laggard(node);
  }
  return !waiting || (free >= quorum() && all_laggards && patient_until_ <= now_);
}

void Lease::finish_releasing() {
  state_ = State::ended;
  const auto free = static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(), [](const NodeState& node) { return !node.may_carry; }));
  effects_.emplace_back(Released{
      .everywhere = free == nodes_.size(), .free = free >= quorum(), .untouched = untouched_});
}

TimePoint Lease::giving_back_wakeup() const {
  TimePoint when = phase_end_;
  if (patient_until_ > now_) when = std::min(when, patient_until_);
  for (const NodeState& node : nodes_) {
    if (!needs_release(node) || node.hopeless) continue;
    if (!node.giving_back) {
      when = std::min(when, node.ask_again_at);
    } else if (!is_laggard(node)) {
      when = std::min(when, node.giving_back->sent + patience_most());
    }
  }
  return when;
}

}  // namespace redlock::core
