// The program: from argc and argv to the way the process ends.
#pragma once

#include "app/exit_code.h"

namespace redlock::app {

/// Everything. Does not end the process itself; what it returns says how to.
ProcessEnd run_program(int argc, char** argv, char** environment);

}  // namespace redlock::app
