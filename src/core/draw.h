// The one door through which chance enters the lock: getrandom in the program, a seed in tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/assert.h"
#include "base/time.h"

namespace redlock::core {

/// Gives 64 uniformly distributed bits at each call.
using Draw = std::function<std::uint64_t()>;

/// A span between `least` and `most`, both included, as good as uniform.
inline Duration draw_between(const Draw& draw, Duration least, Duration most) {
  RR_ASSERT(least <= most);
  const auto width = static_cast<std::uint64_t>((most - least).ns()) + 1;
  return least + Duration::nanoseconds(static_cast<std::int64_t>(draw() % width));
}

/// Pauses between attempts: random so that rivals drift apart, growing so that a long wait costs
/// the server little, capped so that a free lock is noticed soon.
class Backoff {
 public:
  /// The next pause: base 100 ms, half as much again each time up to 2 s, each +-50 %.
  Duration next(const Draw& draw) {
    const Duration base = base_;
    base_ = std::min(base_ + base_ / 2, kCap);
    return draw_between(draw, base / 2, base + base / 2);
  }
  void reset() { base_ = kFirst; }

 private:
  static constexpr Duration kFirst = Duration::milliseconds(100);
  static constexpr Duration kCap = Duration::seconds(2);

  Duration base_ = kFirst;
};

}  // namespace redlock::core
