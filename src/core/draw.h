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
/// the server little, capped so that a free lock is noticed soon. The cap follows the ttl: who
/// takes a short lease expects it to change hands often, and between two jobs of one rival that
/// begins again at once the lock is free for a moment only.
class Backoff {
 public:
  explicit Backoff(Duration ttl)
      : cap_(std::clamp(ttl / 10, Duration::milliseconds(200), Duration::seconds(2))) {}

  /// The next pause: base 100 ms, half as much again each time up to a tenth of the ttl (200 ms to
  /// 2 s), each +-50 %.
  Duration next(const Draw& draw) {
    const Duration base = base_;
    base_ = std::min(base_ + base_ / 2, cap_);
    return draw_between(draw, base / 2, base + base / 2);
  }

 private:
  const Duration cap_;
  Duration base_ = Duration::milliseconds(100);
};

}  // namespace redlock::core
