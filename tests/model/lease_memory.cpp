#include "model/lease_memory.h"

#include <algorithm>

#include "base/assert.h"
#include "model/fingerprint.h"

namespace redlock::model {
namespace {

/// Whoever gives back has this long for it.
constexpr Duration kGivingBack = Duration::milliseconds(200);

std::int64_t span(TimePoint when, TimePoint now) {
  if (when.is_never()) return kNever;
  if (when == TimePoint::past()) return -kNever;
  return (when - now).ns();
}

core::Outcome outcome_of(const Input& input) {
  core::Outcome outcome;
  outcome.answer = static_cast<core::Answer>(input.answer_is);
  outcome.fence = FencingToken(input.number);
  outcome.raised = input.raised != 0;
  outcome.remaining = Duration::nanoseconds(input.remaining);
  if (input.holder != 0) outcome.holder_id = std::to_string(input.holder);
  return outcome;
}

}  // namespace

std::size_t LeaseMemory::Hash::operator()(const Asked& asked) const {
  return fingerprint(&asked, sizeof(asked)).low;
}

LeaseMemory::LeaseMemory(const core::LeaseConfig& config, std::uint64_t chance)
    : config_(config), draw_([chance] { return chance; }) {
  static_assert(sizeof(Asked) == 20, "no padding: compared byte by byte");
  leases_.push_back(concrete());
  facts_.emplace_back();
  permuted_.emplace_back();
  fresh_ = remember(leases_.front());
}

core::Lease LeaseMemory::concrete() const {
  core::Lease lease(config_, draw_);
  for (std::size_t i = 0; i < kNodes; ++i) {
    RR_ASSERT(lease.step(TimePoint(), core::NodeLink{NodeIndex(i), true}).empty());
  }
  return lease;
}

LeaseId LeaseMemory::remember(const core::Lease& lease) {
  std::array<std::string, kNodes> servers;
  std::string text = LeaseText::common(lease);
  for (std::size_t i = 0; i < kNodes; ++i) {
    servers[i] = LeaseText::server(lease, i);
    text += '|' + servers[i];
  }
  const auto [known, is_new] = known_.try_emplace(text, static_cast<LeaseId>(leases_.size()));
  if (!is_new) return known->second;
  leases_.push_back(lease);
  permuted_.emplace_back();
  const TimePoint now = LeaseText::now(lease);
  Facts facts;
  facts.state = lease.state();
  facts.attempt = static_cast<std::uint8_t>(LeaseText::attempt(lease));
  facts.round = static_cast<std::uint8_t>(LeaseText::round(lease));
  facts.wakeup = span(lease.wakeup(), now);
  facts.valid_for = span(lease.valid_until(), now);
  for (std::size_t i = 0; i < kNodes; ++i) {
    const auto number = static_cast<std::uint32_t>(views_.size());
    facts.views[i] = views_.try_emplace(servers[i], number).first->second;
  }
  facts_.push_back(facts);
  return known->second;
}

core::LeaseInput LeaseMemory::input_of(const core::Lease& lease, const Input& input) {
  const NodeIndex node(input.node);
  switch (input.kind) {
    case Input::begin:
      return core::Begin{};
    case Input::tick:
      return core::Tick{};
    case Input::link:
      return core::NodeLink{node, input.up != 0};
    case Input::answer:
      return core::NodeAnswer{node, LeaseText::request(lease, input.node, input.release != 0),
                              outcome_of(input)};
    case Input::give_back:
      return core::GiveBack{kGivingBack};
    case Input::abandon:
      return core::Abandon{};
  }
  RR_ASSERT(false);
  return core::Tick{};
}

std::vector<Effect> LeaseMemory::effects_of(const core::Lease& after,
                                            const core::LeaseEffects& some) {
  std::vector<Effect> effects;
  for (const core::LeaseEffect& effect : some) {
    Effect ours;
    if (const auto* out = std::get_if<core::Send>(&effect)) {
      ours.node = static_cast<std::uint8_t>(out->node.get());
      ours.request = out->request.kind;
      ours.attempt = static_cast<std::uint8_t>(out->request.attempt.get());
      ours.fence = static_cast<std::uint8_t>(out->request.fence.get());
    } else if (const auto* granted = std::get_if<core::Granted>(&effect)) {
      ours.kind = Effect::granted;
      ours.attempt = static_cast<std::uint8_t>(granted->attempt.get());
      ours.fence = static_cast<std::uint8_t>(granted->fence.get());
      for (std::size_t i = 0; i < kNodes; ++i) {
        if (LeaseText::agrees(after, i)) ours.agreeing |= static_cast<std::uint8_t>(1U << i);
      }
    } else if (std::holds_alternative<core::Lost>(effect)) {
      ours.kind = Effect::lost;
    } else if (std::holds_alternative<core::GaveUp>(effect)) {
      ours.kind = Effect::gave_up;
    } else if (const auto* released = std::get_if<core::Released>(&effect)) {
      ours.kind = Effect::released;
      ours.everywhere = released->everywhere;
    } else {
      continue;  // Extended: valid_until() says it
    }
    effects.push_back(ours);
  }
  return effects;
}

const Step& LeaseMemory::step(LeaseId id, std::int32_t age, const Input& input) {
  const auto [known, is_new] = steps_.try_emplace(Asked{id, age, input});
  if (is_new) {
    core::Lease lease = leases_[id];
    const TimePoint now = LeaseText::now(lease) + Duration::nanoseconds(age);
    const core::LeaseEffects effects = lease.step(now, input_of(lease, input));
    known->second.effects = effects_of(lease, effects);
    known->second.lease = remember(lease);
  }
  return known->second;
}

std::int64_t LeaseMemory::sent_before(LeaseId lease, std::size_t node, bool release) const {
  return LeaseText::sent_before(leases_[lease], node, release).ns();
}

LeaseId LeaseMemory::permuted(LeaseId id, const Permutation& order) {
  if (id == 0 || order == Permutation{0, 1, 2}) return id;
  const std::size_t place = order[0] + kNodes * (order[1] + kNodes * order[2]);
  if (permuted_[id][place] == 0) {
    const LeaseId other = remember(LeaseText::permuted(leases_[id], order));
    permuted_[id][place] = other;
  }
  return permuted_[id][place];
}

}  // namespace redlock::model
