// The clocks: CLOCK_BOOTTIME for everything that is measured, since it goes on during suspend as
// the leases on the servers do; the wall clock only for texts and as a floor for fencing tokens.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace redlock::os {

/// Now, on CLOCK_BOOTTIME. Async-signal-safe.
TimePoint boot_now();

/// Milliseconds since 1970. May jump either way.
std::int64_t wall_ms();

}  // namespace redlock::os
