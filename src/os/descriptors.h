// Descriptors that came with the process and are COMMAND's, not ours.
#pragma once

#include "base/unique_fd.h"

namespace redlock::os {

/// Occupies each of 0, 1 and 2 that is closed, so that no descriptor of ours lands there and no log
/// line is written into it. What is opened is close-on-exec: for COMMAND they stay closed.
void occupy_standard_descriptors();

/// Closes every descriptor from 3 on that is not close-on-exec. Those are exactly the inherited
/// ones: exec closed the others before we began, and all of ours are marked. Pipes and locks behind
/// them then end with COMMAND and not with us.
void close_inherited_descriptors();

/// Moves `first` to 3 and `second` to 4 and closes everything above, whosever it is.
void close_all_but(UniqueFd& first, UniqueFd& second);

/// Points 0 and 1, and 2 if asked for, to /dev/null, and moves to "/", so that no pipe end and no
/// mount is kept alive by us.
void let_go_of_surroundings(bool stderr_too);

}  // namespace redlock::os
