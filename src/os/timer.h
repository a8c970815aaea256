// Timers on CLOCK_BOOTTIME, as descriptors.
#pragma once

#include "base/time.h"
#include "base/unique_fd.h"

namespace redlock::os {

/// A timer that is not set. Close-on-exec; never blocks.
UniqueFd make_timer();

/// Makes the timer readable from `when` on; never() stops it.
void set_timer(int timer, TimePoint when);

/// Makes it silent until it is set again. True if it had fired.
bool clear_timer(int timer);

}  // namespace redlock::os
