// Every lease the search has met, once, and what each of its steps gives. The steps are those of
// the real core::Lease; only asking the same lease the same thing again is saved.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/lease.h"
#include "model/lease_text.h"

namespace redlock::model {

/// 0: no lease.
using LeaseId = std::uint32_t;
inline constexpr std::int64_t kNever = std::int64_t{1} << 60;

/// One input in 12 bytes, to be told from others byte by byte.
struct Input {
  enum Kind : std::uint8_t { begin, tick, link, answer, give_back, abandon };
  Kind kind = tick;
  std::uint8_t node = 0;
  std::uint8_t up = 0;       ///< link
  std::uint8_t release = 0;  ///< answer: to the release, not to the question
  std::uint8_t answer_is = 0;
  std::uint8_t number = 0;  ///< answer: the fencing counter
  std::uint8_t raised = 0;
  std::uint8_t holder = 0;
  std::int32_t remaining = 0;
};

struct Effect {
  enum Kind : std::uint8_t { send, granted, lost, gave_up, released };
  Kind kind = send;
  std::uint8_t node = 0;
  core::RequestKind request = core::RequestKind::acquire;
  std::uint8_t attempt = 0;
  std::uint8_t fence = 0;
  bool everywhere = false;
  std::uint8_t agreeing = 0;  ///< granted: the servers that count for the fencing number, as bits
  friend bool operator==(const Effect&, const Effect&) = default;
};

/// What one step gives.
struct Step {
  LeaseId lease = 0;
  std::vector<Effect> effects;
};

/// What can be read of a lease; times are spans from its last step.
struct Facts {
  core::Lease::State state = core::Lease::State::idle;
  std::uint8_t attempt = 0;
  std::uint8_t round = 0;
  std::int64_t wakeup = kNever;
  std::int64_t valid_for = 0;
  /// What it knows of each server, numbered: equal numbers are equal knowledge.
  std::array<std::uint32_t, kNodes> views{};
};

class LeaseMemory {
 public:
  /// All leases draw `chance` whenever they draw: their randomness is fixed.
  LeaseMemory(const core::LeaseConfig& config, std::uint64_t chance);
  LeaseMemory(const LeaseMemory&) = delete;
  LeaseMemory& operator=(const LeaseMemory&) = delete;

  /// A lease that stands before Begin with connections to all servers.
  LeaseId fresh() const { return fresh_; }
  /// Gives `input` to the lease, `age` ns after its last step.
  const Step& step(LeaseId lease, std::int32_t age, const Input& input);
  const Facts& facts(LeaseId lease) const { return facts_[lease]; }
  /// When the question or the release that `node` owes an answer was sent, before the last step.
  std::int64_t sent_before(LeaseId lease, std::size_t node, bool release) const;
  /// The lease with its servers in another order.
  LeaseId permuted(LeaseId lease, const Permutation& order);

  const core::Lease& lease(LeaseId lease) const { return leases_[lease]; }
  std::size_t leases() const { return leases_.size() - 1; }
  std::size_t steps() const { return steps_.size(); }
  const core::LeaseConfig& config() const { return config_; }

  /// For leases that are not remembered: the same input in the terms of the core, and its effects
  /// in ours.
  static core::LeaseInput input_of(const core::Lease& lease, const Input& input);
  static std::vector<Effect> effects_of(const core::Lease& after, const core::LeaseEffects& some);
  core::Lease concrete() const;

 private:
  struct Asked {
    LeaseId lease;
    std::int32_t age;
    Input input;
    friend bool operator==(const Asked& a, const Asked& b) {
      return std::memcmp(&a, &b, sizeof(Asked)) == 0;
    }
  };
  struct Hash {
    std::size_t operator()(const Asked& asked) const;
  };
  LeaseId remember(const core::Lease& lease);

  const core::LeaseConfig config_;
  const core::Draw draw_;
  std::deque<core::Lease> leases_;  ///< leases_[0] is never asked
  std::vector<Facts> facts_;
  std::vector<std::array<LeaseId, kNodes * kNodes * kNodes>> permuted_;
  std::unordered_map<std::string, LeaseId> known_;
  std::unordered_map<std::string, std::uint32_t> views_;
  std::unordered_map<Asked, Step, Hash> steps_;
  LeaseId fresh_ = 0;
};

}  // namespace redlock::model
