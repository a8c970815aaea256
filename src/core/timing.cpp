#include "core/timing.h"

#include <algorithm>

namespace redlock::core {

Timing Timing::for_ttl(Duration ttl) {
  const auto twentieth = std::clamp(ttl / 20, Duration::milliseconds(50), Duration::seconds(2));
  return {
      .ttl = ttl,
      .renew_interval = ttl / 3,
      .node_timeout = twentieth,
      .kill_after = std::min(Duration::seconds(5), ttl / 4),
      .kill_margin = twentieth,
  };
}

Duration Timing::drift() const {
  return Duration::nanoseconds((ttl.ns() + 99) / 100) + Duration::milliseconds(2);
}

Duration Timing::connect_limit() const {
  return std::clamp(ttl / 6, Duration::milliseconds(250), Duration::seconds(5));
}

Duration least_ttl(const Timing& timing) {
  return timing.renew_interval + timing.node_timeout * 2 + timing.kill_after + timing.kill_margin +
         timing.drift();
}

TimingFault check(const Timing& timing) {
  if (timing.ttl < kMinTtl || timing.ttl > kMaxTtl) return TimingFault::ttl_out_of_range;
  if (timing.node_timeout >= timing.renew_interval) return TimingFault::node_timeout_too_long;
  if (least_ttl(timing) > timing.ttl) return TimingFault::does_not_fit;
  return TimingFault::none;
}

}  // namespace redlock::core
