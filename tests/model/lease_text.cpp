#include "model/lease_text.h"

#include <algorithm>

#include "base/assert.h"

namespace redlock::model {
namespace {

using State = core::Lease::State;

void write(std::string& text, std::uint64_t number) {
  text += std::to_string(number);
  text += ' ';
}

template <class Enum>
void write_enum(std::string& text, Enum value) {
  write(text, static_cast<std::uint64_t>(value));
}

void write_flags(std::string& text, std::initializer_list<bool> flags) {
  for (const bool flag : flags) text += flag ? '1' : '0';
  text += ' ';
}

void write(std::string& text, TimePoint when, TimePoint now) {
  if (when.is_never()) {
    text += "never ";
  } else if (when == TimePoint::past()) {
    text += "past ";
  } else {
    text += std::to_string((when - now).ns()) + ' ';
  }
}

/// Of a time that is only compared with the present: all that are over are one.
void write_until(std::string& text, TimePoint when, TimePoint now) {
  write(text, when <= now ? TimePoint::past() : when, now);
}

/// Of a time that is only compared with another which never goes back.
void write_since(std::string& text, TimePoint when, TimePoint least, TimePoint now) {
  write(text, when < least ? TimePoint::past() : when, now);
}

bool gives_back(State state) {
  return state == State::clearing || state == State::pausing || state == State::releasing;
}

bool votes_count(State state) {
  return state == State::acquiring || state == State::clearing;
}

}  // namespace

void LeaseText::write(std::string& text, const Flight& flight, TimePoint now) {
  const auto& [id, kind, attempt, fence, sent, on_wire] = flight;
  (void)id;  // known by its place
  write_enum(text, kind);
  model::write(text, attempt.get());
  model::write(text, fence.get());
  model::write(text, sent, now);
  model::write(text, on_wire, now);
}

// The bindings name every member: one that is added to the core does not compile here until it is
// decided upon.

std::string LeaseText::common(const core::Lease& lease) {
  const auto& [config, draw, state, now, nodes, next_request, attempt, attempt_began, stragglers,
               fence, backoff, round, round_began, next_round, give_up, undecided_until, phase_end,
               patient, last_refusal, undecided, seen_held, untouched, last_held, effects] = lease;
  std::string text;
  write_enum(text, state);
  if (state == State::ended) return text;
  RR_ASSERT(effects.empty());
  // Who waits for ever does not care until when a vote would be undecided.
  if (config.wait.is_infinite()) {
    RR_ASSERT(give_up.is_never());
  } else {
    model::write(text, give_up, now);
    model::write(text, undecided_until, now);
    write_flags(text, {seen_held});
  }
  model::write(text, attempt.get());
  model::write(text, fence.get());
  if (state == State::acquiring) {
    model::write(text, attempt_began, now);
    write_until(text, stragglers, now);
  } else if (state != State::releasing) {
    // Giving back is patient for a tenth of the time worked, but never longer than node_timeout.
    const TimePoint long_ago = now - config.timing.node_timeout * 10;
    model::write(text, std::max(attempt_began, long_ago), now);
  }
  core::Backoff next_pause = backoff;
  model::write(text, static_cast<std::uint64_t>(next_pause.next([] { return 0U; }).ns()));
  model::write(text, round);
  if (state == State::held || gives_back(state)) {
    model::write(text, round_began, now);
    write_until(text, next_round, now);
  }
  if (gives_back(state)) {
    model::write(text, phase_end, now);
    write_until(text, patient, now);
  }
  if (state == State::clearing) {
    write_enum(text, last_refusal);
    write_flags(text, {undecided});
  }
  write_flags(text, {untouched});
  return text;
}

std::string LeaseText::server(const core::Lease& lease, std::size_t node) {
  const State state = lease.state_;
  std::string text;
  if (state == State::ended) return text;
  const TimePoint now = lease.now_;
  const auto& [up, doubtful, question, giving_back, holds, may_carry, carried, answered, denies,
               foreign, hopeless, try_failed, counter, raise_asked, end, confirmed, missing,
               renewed_in, healed_in, errors, ask_again, server, report] = lease.nodes_[node];
  write_flags(text, {up, doubtful, holds, may_carry, denies, foreign, renewed_in < lease.round_,
                     healed_in < lease.round_});
  if (gives_back(state)) write_flags(text, {hopeless, try_failed});
  if (may_carry) model::write(text, carried.get());
  write_until(text, end, now);
  write_since(text, confirmed, lease.round_began_, now);
  // That it was lost matters for ever, when only as long as this round does not ask for more.
  const bool found = missing != TimePoint::past();
  model::write(text, found ? std::max(missing, lease.round_began_) : missing, now);
  model::write(text, static_cast<std::uint64_t>(std::min(errors, 8)));
  write_until(text, ask_again, now);
  if (question) write(text += "Q ", *question, now);
  if (giving_back) write(text += "R ", *giving_back, now);
  if (state == State::acquiring) {
    model::write(text, counter.get());
    model::write(text, raise_asked.get());
  }
  const auto& [answer, remaining, holder, holder_id, reason, silent, uptime_hidden, said, wanting,
               twin] = report;
  RR_ASSERT(server.empty() && !twin && !uptime_hidden);  // the model has none of that
  if (votes_count(state)) {
    write_flags(text, {answered, silent});
    if (answered) write_enum(text, answer);
    if (answered && answer == core::Answer::held) {
      text += holder_id + ' ';
      model::write(text, static_cast<std::uint64_t>(remaining.ns()));
    }
  }
  return text;
}

std::string LeaseText::whole(const core::Lease& lease) {
  std::string text = common(lease);
  for (std::size_t i = 0; i < kNodes; ++i) text += '|' + server(lease, i);
  return text;
}

core::Lease LeaseText::permuted(const core::Lease& lease, const Permutation& order) {
  core::Lease other = lease;
  for (std::size_t i = 0; i < order.size(); ++i) other.nodes_[i] = lease.nodes_[order[i]];
  return other;
}

core::RequestId LeaseText::request(const core::Lease& lease, std::size_t node, bool release) {
  const auto& flight = release ? lease.nodes_[node].giving_back : lease.nodes_[node].question;
  RR_ASSERT(flight);
  return flight->id;
}

Duration LeaseText::sent_before(const core::Lease& lease, std::size_t node, bool release) {
  const auto& flight = release ? lease.nodes_[node].giving_back : lease.nodes_[node].question;
  return flight ? lease.now_ - flight->sent : Duration();
}

bool LeaseText::agrees(const core::Lease& lease, std::size_t node) {
  const core::Lease::NodeState& server = lease.nodes_[node];
  return server.holds && server.counter >= lease.fence_;
}

}  // namespace redlock::model
