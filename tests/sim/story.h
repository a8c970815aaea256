// For the files of stories.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "sim/scenario.h"

/// A story that does not go as it is told fails with its trace.
#define STORY(text)                          \
  do {                                       \
    const std::string failure = play(text);  \
    CHECK_MESSAGE(failure.empty(), failure); \
  } while (false)
