// Assertions for bugs. They stay in release builds: a lock that runs on after a broken invariant
// is worse than one that stops.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the process by SIGABRT when CONDITION does not hold. For bugs only, never for input.
#define RR_ASSERT(condition)                                                                   \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::fprintf(stderr, "redlock-run: internal error: %s at %s:%d\n", #condition, __FILE__, \
                   __LINE__);                                                                  \
      std::abort();                                                                            \
    }                                                                                          \
  } while (false)
