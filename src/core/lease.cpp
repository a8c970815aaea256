// The frame of the lease: what comes in, and what all its phases share.
#include "core/lease.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace redlock::core {

bool Lease::sets_key(RequestKind kind) {
  return kind == RequestKind::acquire || kind == RequestKind::heal;
}

Lease::Lease(const LeaseConfig& config, const Draw& draw)
    : config_(config), draw_(draw), nodes_(config.nodes), backoff_(config.timing.ttl) {
  RR_ASSERT(config.nodes > 0);
  RR_ASSERT(check(config.timing) == TimingFault::none);
}

LeaseEffects Lease::step(TimePoint now, const LeaseInput& input) {
  RR_ASSERT(now >= now_);
  now_ = now;
  effects_.clear();
  // A lease that has run out is lost before any news: nothing that is said later revives it.
  if (state_ == State::held) judge_lease(valid_until());
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
  node.doubtful = link.doubtful;
  if (!link.up) {
    // Perhaps it restarted and forgot: the sooner that is known, the sooner it can be healed.
    const bool idle = node.holds && !node.question && node.ask_again_at.is_never();
    if (state_ == State::held && idle) ask_again_later(node);
    return;
  }
  // What was queued while connecting leaves now.
  for (std::optional<Flight>* flight : {&node.question, &node.giving_back}) {
    if (!flight->has_value() || !(*flight)->on_wire.is_never()) continue;
    (*flight)->on_wire = now_;
    note_on_wire(node, **flight);
  }
}

/// From here on the server may execute it, whatever becomes of the answer.
void Lease::note_on_wire(NodeState& node, const Flight& flight) {
  if (!sets_key(flight.kind)) return;
  node.may_carry = true;
  node.carried = flight.attempt;
}

void Lease::on(const NodeAnswer& answer) {
  const std::size_t index = answer.node.get();
  NodeState& node = nodes_.at(index);
  if (node.giving_back && node.giving_back->id == answer.request) {
    const Flight flight = *std::exchange(node.giving_back, std::nullopt);
    note_release_answer(node, flight, answer.outcome);
  } else {
    RR_ASSERT(node.question && node.question->id == answer.request);
    const Flight flight = *std::exchange(node.question, std::nullopt);
    switch (flight.kind) {
      case RequestKind::acquire:
      case RequestKind::heal:
        note_acquire_answer(index, flight, answer.outcome);
        break;
      case RequestKind::renew:
        note_renew_answer(node, flight, answer.outcome);
        break;
      case RequestKind::release:
        RR_ASSERT(false);
        break;
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
      keep_up();
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
  // Whoever worked for long does not mind to wait a little for servers that are late.
  const Duration worked = (now_ - attempt_began_) / 10;
  begin_giving_back(now_ + give_back.limit, std::min(worked, patience_most()));
  if (nothing_to_wait_for()) finish_releasing();
}

void Lease::on(const TryAgain&) {
  RR_ASSERT(state_ == State::held || state_ == State::lost);
  fail_attempt(Refusal::unavailable, true);
}

void Lease::on(const Abandon&) {
  finish_releasing();
}

/// What is on its way counts from as much earlier. Of a lease that is held the servers know better:
/// ending it because somebody set the clock would be wrong, so they are asked, at once.
void Lease::on(const TimeSlipped& slip) {
  for (NodeState& node : nodes_) {
    if (node.question) node.question->sent = node.question->sent - slip.missed;
    if (state_ == State::acquiring) node.lease_end = node.lease_end - slip.missed;
  }
  if (state_ != State::held) return;
  next_round_at_ = now_;
  keep_up();
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
      if (phase_end_ <= now_) {
        give_up_at_ <= now_ ? finish_clearing() : begin_attempt();
      } else {
        give_back_due();
      }
      break;
    case State::clearing:
      give_back_due();
      if (phase_end_ <= now_ || nothing_to_wait_for()) finish_clearing();
      break;
    case State::releasing:
      give_back_due();
      if (phase_end_ <= now_ || nothing_to_wait_for()) finish_releasing();
      break;
    case State::held:
      keep_up();
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
  if (node.up) note_on_wire(node, flight);
  const bool wants_answer = kind != RequestKind::release && node.report.wanting_since.is_never();
  if (wants_answer) node.report.wanting_since = now_;
  effects_.emplace_back(Send{
      NodeIndex(index),
      {.id = flight.id, .kind = kind, .attempt = attempt, .fence = fence_},
  });
}

void Lease::note_said(NodeState& node, const Outcome& outcome) const {
  NodeReport& report = node.report;
  report.answer = outcome.answer;
  report.remaining = outcome.remaining;
  report.holder = outcome.holder;
  report.holder_id = outcome.holder_id;
  report.reason = outcome.reason;
  report.uptime_hidden = report.uptime_hidden || outcome.uptime_hidden;
  report.silent = false;
  report.said = now_;
  switch (outcome.answer) {
    case Answer::granted:
    case Answer::held:
    case Answer::foreign:
    case Answer::gone:
    case Answer::young:
      report.wanting_since = TimePoint::never();
      break;
    case Answer::failed:
    case Answer::refused:
    case Answer::misconfigured:
    case Answer::misplaced:
    case Answer::unknown:
      break;
  }
}

std::optional<std::size_t> Lease::twin_of(std::size_t index) const {
  const std::string& server = nodes_[index].server;
  for (std::size_t i = 0; i < nodes_.size() && !server.empty(); ++i) {
    if (i != index && nodes_[i].server == server) return i;
  }
  return std::nullopt;
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

}  // namespace redlock::core
