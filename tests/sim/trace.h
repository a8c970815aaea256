// What happens in a world, one event a line. Always folded into a number, which a seed must repeat;
// kept as readable text only where somebody will read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace redlock::sim {

/// "a", "b", ... "z", "h26", ...
std::string host_name(std::size_t index);

class Trace {
 public:
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  explicit Trace(bool readable) : readable_(readable) {}

  /// `host` may be kNobody. In `what`, %n stands for the node (counted from 1) and %v for the
  /// value.
  void note(TimePoint now, std::size_t host, std::string_view what, std::size_t node = kNobody,
            std::uint64_t value = 0);

  std::uint64_t hash() const { return hash_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void fold(std::uint64_t what) { hash_ = (hash_ ^ what) * 0x100000001B3; }

  const bool readable_;
  std::uint64_t hash_ = 0xCBF29CE484222325;
  std::vector<std::string> lines_;
};

}  // namespace redlock::sim
