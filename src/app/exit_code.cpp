#include "app/exit_code.h"

#include <cerrno>

#include "base/assert.h"

namespace redlock::app {

ProcessEnd process_end(const core::Verdict& verdict, int held_code) {
  switch (verdict.ending) {
    case core::Ending::command_exited:
      return {.code = verdict.value};
    case core::Ending::command_killed:
    case core::Ending::interrupted:
      return {.code = 128 + verdict.value, .signal = verdict.value};
    case core::Ending::held:
      return {.code = held_code};
    case core::Ending::unavailable:
      return {.code = kExitUnavailable};
    case core::Ending::denied:
      return {.code = kExitDenied};
    case core::Ending::misconfigured:
      return {.code = kExitConfig};
    case core::Ending::not_executable:
      return {.code = verdict.value == ENOENT ? kExitNotFound : kExitNotExecutable};
    case core::Ending::not_started:
      return {.code = kExitOsError};
    case core::Ending::max_run:
      return {.code = kExitMaxRun};
    case core::Ending::lost:
      return {.code = kExitLost};
    case core::Ending::survivors:
      return {.code = kExitSurvivors};
  }
  RR_ASSERT(false);
  return {.code = kExitInternal};
}

}  // namespace redlock::app
