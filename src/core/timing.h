// The spans of time a lease is built from, their defaults, and the relations between them that must
// hold. Checked once before anything is touched; everything else relies on them.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace redlock::core {

/// All spans of one run. Fill ttl, let `Timing::for_ttl` choose the rest, override, then check().
struct Timing {
  /// How long a server keeps the key after one acquire or renew. At least 500 ms.
  Duration ttl;
  /// From the start of one round of renewals to the next. ttl/3: two more tries fit before the stop
  /// line. A longer interval leaves one lost packet between a healthy job and its end.
  Duration renew_interval;
  /// How long one server may take to answer on a standing connection before it counts as silent.
  Duration node_timeout;
  /// From the stop signal to SIGKILL. Longer is kinder to the job and costs renewal time, since
  /// both must be over before the lease can expire.
  Duration kill_after;
  /// SIGKILL falls this long before the lease can expire: the time a kernel may need to tear down
  /// a big process tree on a busy host.
  Duration kill_margin;

  /// The defaults for a ttl; they satisfy check() for every ttl of at least kMinTtl.
  static Timing for_ttl(Duration ttl);

  /// Allowance for clocks that run at different rates, and for the millisecond steps of the server:
  /// ceil(ttl/100) + 2 ms (the Redlock page of the Redis documentation; common to its clients).
  Duration drift() const;
  /// Connecting, with name resolution and authentication, may take this long.
  Duration connect_limit() const;
};

inline constexpr Duration kMinTtl = Duration::milliseconds(500);
/// Longer leases than this are a mistake; the bound also keeps every sum of spans exact.
inline constexpr Duration kMaxTtl = Duration::seconds(30LL * 24 * 3600);

/// The first relation that does not hold.
enum class TimingFault {
  none,
  /// ttl is below kMinTtl or above kMaxTtl.
  ttl_out_of_range,
  /// node_timeout >= renew_interval: a silent server would be noticed after the next round is due.
  node_timeout_too_long,
  /// renew_interval + 2 * node_timeout + kill_after + kill_margin + drift > ttl: one failed renewal
  /// would stop a healthy job.
  does_not_fit,
};

TimingFault check(const Timing& timing);

/// Left side of the relation behind `does_not_fit`, for the message that explains it.
Duration least_ttl(const Timing& timing);

}  // namespace redlock::core
