// The frame of the lease, and its life from Granted on: renewing, losing, giving back.
#include "core/lease.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace redlock::core {

Lease::Lease(const LeaseConfig& config, const Draw& draw)
    : config_(config), draw_(draw), nodes_(config.nodes) {
  RR_ASSERT(config.nodes > 0);
  RR_ASSERT(check(config.timing) == TimingFault::none);
}

LeaseEffects Lease::step(TimePoint now, const LeaseInput& input) {
  RR_ASSERT(now >= now_);
  now_ = now;
  effects_.clear();
  if (state_ != State::ended) {
    std::visit([this](const auto& what) { on(what); }, input);
  }
  return std::exchange(effects_, {});
}

void Lease::on(const Begin&) {
  RR_ASSERT(state_ == State::idle);
  if (config_.wait > Duration()) give_up_at_ = now_ + config_.wait;
  undecided_until_ = now_ + std::min(Duration::seconds(1), config_.timing.ttl / 4);
  begin_attempt();
}

void Lease::on(const NodeLink& link) {
  NodeState& node = nodes_.at(link.node.get());
  node.up = link.up;
  if (!link.up) return;
  // What was queued while connecting leaves now.
  for (std::optional<Flight>* flight : {&node.question, &node.giving_back}) {
    if (flight->has_value() && (*flight)->on_wire.is_never()) (*flight)->on_wire = now_;
  }
}

void Lease::on(const NodeAnswer& answer) {
  const std::size_t index = answer.node.get();
  NodeState& node = nodes_.at(index);
  if (node.giving_back && node.giving_back->id == answer.request) {
    node.giving_back.reset();
    note_release_answer(node, answer.outcome);
  } else {
    RR_ASSERT(node.question && node.question->id == answer.request);
    const Flight flight = *std::exchange(node.question, std::nullopt);
    if (flight.kind == RequestKind::acquire) {
      note_acquire_answer(node, flight, answer.outcome);
    } else {
      note_renew_answer(node, flight, answer.outcome);
    }
  }
  switch (state_) {
    case State::acquiring:
      ask_acquire(index);
      judge_attempt();
      break;
    case State::clearing:
      if (nothing_to_wait_for()) finish_clearing();
      break;
    case State::releasing:
      if (nothing_to_wait_for()) finish_releasing();
      break;
    case State::held:
      renew_due();
      break;
    case State::idle:
    case State::pausing:
    case State::lost:
    case State::ended:
      break;
  }
}

void Lease::on(const GiveBack& give_back) {
  if (state_ == State::releasing) return;
  state_ = State::releasing;
  phase_end_ = now_ + give_back.limit;
  for (NodeState& node : nodes_) node.ask_again_at = now_;
  give_back_due();
  if (nothing_to_wait_for()) finish_releasing();
}

void Lease::on(const TryAgain&) {
  RR_ASSERT(state_ == State::held || state_ == State::lost);
  fail_attempt(Refusal::unavailable, true);
}

void Lease::on(const Abandon&) {
  finish_releasing();
}

void Lease::on(const Tick&) {
  switch (state_) {
    case State::acquiring:
      if (give_up_at_ <= now_) {
        fail_attempt(Refusal::unavailable, false);
      } else {
        mark_silent();
        judge_attempt();
      }
      break;
    case State::pausing:
      if (phase_end_ <= now_) give_up_at_ <= now_ ? finish_clearing() : begin_attempt();
      break;
    case State::clearing:
      give_back_due();
      if (phase_end_ <= now_) finish_clearing();
      break;
    case State::releasing:
      give_back_due();
      if (phase_end_ <= now_) finish_releasing();
      break;
    case State::held:
      judge_lease(valid_until());
      if (state_ == State::held) renew_due();
      break;
    case State::idle:
    case State::lost:
    case State::ended:
      break;
  }
}

TimePoint Lease::valid_until() const {
  std::vector<TimePoint> ends;
  ends.reserve(nodes_.size());
  for (const NodeState& node : nodes_) ends.push_back(node.lease_end);
  return core::valid_until(std::move(ends));
}

void Lease::send(std::size_t index, RequestKind kind, Attempt attempt) {
  NodeState& node = nodes_[index];
  const Flight flight{.id = RequestId(next_request_++),
                      .kind = kind,
                      .attempt = attempt,
                      .fence = fence_,
                      .sent = now_,
                      .on_wire = node.up ? now_ : TimePoint::never()};
  std::optional<Flight>& place = kind == RequestKind::release ? node.giving_back : node.question;
  RR_ASSERT(!place);  // keeps (2)
  place = flight;
  if (kind == RequestKind::acquire) {
    node.may_carry = true;
    node.carried = attempt;
  }
  effects_.emplace_back(Send{
      NodeIndex(index),
      {.id = flight.id, .kind = kind, .attempt = attempt, .fence = fence_},
  });
}

void Lease::renew_due() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    if (!node.holds || node.question || node.ask_again_at > now_) continue;
    node.ask_again_at = now_ + config_.timing.renew_interval;
    send(i, RequestKind::renew, attempt_);
  }
}

void Lease::note_renew_answer(NodeState& node, const Flight& flight, const Outcome& outcome) {
  const TimePoint before = valid_until();
  note_said(node, outcome);
  switch (outcome.answer) {
    case Answer::granted:
      node.lease_end = std::max(node.lease_end, lease_end(flight.sent, config_.timing));
      // To what it was asked for, which may be less than what is wanted by now.
      if (outcome.raised) node.counter = std::max(node.counter, flight.fence);
      break;
    case Answer::held:
    case Answer::foreign:
    case Answer::gone:
      node.holds = false;
      node.denies = true;
      node.may_carry = false;
      node.lease_end = TimePoint::past();
      break;
    case Answer::failed:
    case Answer::refused:
    case Answer::misconfigured:
    case Answer::unknown:
      // Not a loss: the server may still have the key, and lease_end says for how long.
      node.ask_again_at = std::min(node.ask_again_at, now_ + retry_pause());
      break;
  }
  if (state_ == State::held) judge_lease(before);
}

void Lease::judge_lease(TimePoint before) {
  std::size_t denials = 0;
  bool foreign = false;
  for (const NodeState& node : nodes_) {
    if (!node.denies) continue;
    ++denials;
    foreign = foreign || node.report.answer != Answer::gone;
  }
  if (denials > nodes_.size() - quorum()) {
    state_ = State::lost;
    effects_.emplace_back(Lost{foreign ? Loss::foreign : Loss::gone});
  } else if (valid_until() <= now_) {
    state_ = State::lost;
    effects_.emplace_back(Lost{Loss::expired});
  } else if (valid_until() != before) {
    effects_.emplace_back(Extended{valid_until()});
  }
}

void Lease::note_release_answer(NodeState& node, const Outcome& outcome) {
  switch (outcome.answer) {
    case Answer::granted:
      node.may_carry = false;
      break;
    case Answer::held:
    case Answer::foreign:
    case Answer::gone:
      node.may_carry = false;
      if (node.holds) untouched_ = false;
      break;
    case Answer::failed:
    case Answer::unknown:
      note_said(node, outcome);
      node.ask_again_at = now_ + retry_pause();
      break;
    case Answer::refused:
    case Answer::misconfigured:
      note_said(node, outcome);
      node.hopeless = true;
      break;
  }
}

void Lease::give_back_due() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    if (!node.may_carry || node.hopeless || node.giving_back) continue;
    if (node.ask_again_at <= now_) send(i, RequestKind::release, node.carried);
  }
}

bool Lease::nothing_to_wait_for() const {
  return std::none_of(nodes_.begin(), nodes_.end(),
                      [](const NodeState& node) { return node.may_carry && !node.hopeless; });
}

void Lease::finish_releasing() {
  state_ = State::ended;
  const bool everywhere = std::none_of(nodes_.begin(), nodes_.end(),
                                       [](const NodeState& node) { return node.may_carry; });
  effects_.emplace_back(Released{.everywhere = everywhere, .untouched = untouched_});
}

void Lease::note_said(NodeState& node, const Outcome& outcome) const {
  node.report = {.answer = outcome.answer,
                 .remaining = outcome.remaining,
                 .holder = outcome.holder,
                 .reason = outcome.reason,
                 .silent = false,
                 .said = now_};
}

/// After an error or silence: soon, but not in step with rivals, and not so soon that a short
/// outage costs a busy loop.
Duration Lease::retry_pause() const {
  const Duration ttl = config_.timing.ttl;
  return draw_between(draw_, std::min(Duration::milliseconds(100), ttl / 50),
                      std::min(Duration::milliseconds(500), ttl / 10));
}

TimePoint Lease::wakeup() const {
  switch (state_) {
    case State::acquiring:
      return acquiring_wakeup();
    case State::pausing:
      return phase_end_;
    case State::clearing:
    case State::releasing:
      return giving_back_wakeup();
    case State::held:
      return held_wakeup();
    case State::idle:
    case State::lost:
    case State::ended:
      return TimePoint::never();
  }
  RR_ASSERT(false);
  return TimePoint::never();
}

TimePoint Lease::held_wakeup() const {
  TimePoint when = valid_until();
  for (const NodeState& node : nodes_) {
    if (node.holds && !node.question) when = std::min(when, node.ask_again_at);
  }
  return when;
}

TimePoint Lease::giving_back_wakeup() const {
  TimePoint when = phase_end_;
  for (const NodeState& node : nodes_) {
    const bool due = node.may_carry && !node.hopeless && !node.giving_back;
    if (due) when = std::min(when, node.ask_again_at);
  }
  return when;
}

}  // namespace redlock::core
