// What a lease will do from now on, as text: two leases of one configuration with the same text
// answer every sequence of inputs in the same way, whenever each of them was begun. Times are
// relative to the last step, requests are known by their place, rounds by whether they are over.
// What cannot matter any more in a phase is left out of it, and what serves messages only is left
// out always; memory_test.cpp compares with leases that are never merged.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "core/lease.h"

namespace redlock::model {

inline constexpr std::size_t kNodes = 3;
/// For each new place the old one.
using Permutation = std::array<std::uint8_t, kNodes>;

class LeaseText {
 public:
  /// All of it.
  static std::string whole(const core::Lease& lease);
  /// What the lease knows beside its servers.
  static std::string common(const core::Lease& lease);
  /// What it knows of one server.
  static std::string server(const core::Lease& lease, std::size_t node);
  /// The same lease with its servers in another order.
  static core::Lease permuted(const core::Lease& lease, const Permutation& order);

  /// The number under which the question or the release that `node` owes an answer was sent.
  static core::RequestId request(const core::Lease& lease, std::size_t node, bool release);
  /// When that was, before the last step; 0 if there is none.
  static Duration sent_before(const core::Lease& lease, std::size_t node, bool release);
  /// Whether the server counts for the fencing number of the lease.
  static bool agrees(const core::Lease& lease, std::size_t node);
  static unsigned attempt(const core::Lease& lease) { return lease.attempt_.get(); }
  static std::uint64_t round(const core::Lease& lease) { return lease.round_; }
  static TimePoint now(const core::Lease& lease) { return lease.now_; }

 private:
  using Flight = core::Lease::Flight;
  static void write(std::string& text, const Flight& flight, TimePoint now);
};

}  // namespace redlock::model
