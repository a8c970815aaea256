// Assertions for bugs. They stay in release builds: a lock that runs on after a broken invariant
// is worse than one that stops.
#pragma once

#include <unistd.h>

#include <cstdio>

/// Ends the process with status 70 when CONDITION does not hold. For bugs only, never for input. No
/// core file is left, since passwords may be in it.
#define RR_ASSERT(condition)                                                                   \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::fprintf(stderr, "redlock-run: internal error: %s at %s:%d\n", #condition, __FILE__, \
                   __LINE__);                                                                  \
      ::_exit(70);                                                                             \
    }                                                                                          \
  } while (false)
