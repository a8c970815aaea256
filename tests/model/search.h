// Breadth-first search through everything that can happen in a world, each state once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/fingerprint.h"
#include "model/world.h"

namespace redlock::model {

struct Result {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint32_t depth = 0;
  std::size_t leases = 0;  ///< different ones
  std::size_t steps = 0;   ///< of the core; all others were remembered
  double seconds = 0;
  /// Everything within the rules was visited.
  bool complete = false;
  std::optional<Violation> violation;
  /// From the first state to the violation, a line each: the shortest there is.
  std::vector<std::string> trace;
};

/// The fingerprints of all states met, numbered in the order of their finding, and the way to each.
class Visited {
 public:
  Visited();
  /// The number of a new state, or nothing if it is known.
  std::optional<std::uint32_t> add(const Fingerprint& state, std::uint32_t from, Action by);
  std::optional<std::uint32_t> find(const Fingerprint& state) const;
  std::size_t size() const { return entries_.size(); }
  /// The actions from the first state to this one.
  std::vector<Action> way_to(std::uint32_t number) const;

 private:
  struct Entry {
    Fingerprint state;
    std::uint32_t from;
    Action by;
  };
  std::size_t slot_of(const Fingerprint& state) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< number + 1; 0: empty
};

/// Stops at the first violation, and unfinished at `most_states`.
Result search(const Rules& rules, std::uint64_t most_states = 40'000'000);

/// Prints what a search came to, under `title`.
void report(const std::string& title, const Rules& rules, const Result& result);

}  // namespace redlock::model
