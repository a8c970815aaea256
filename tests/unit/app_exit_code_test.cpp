#include <doctest/doctest.h>
#include <signal.h>

#include <cerrno>
#include <set>

#include "app/exit_code.h"

TEST_SUITE_BEGIN("app.exit_code");

namespace redlock::app {
namespace {

using core::Ending;

struct Row {
  Ending ending;
  int value;
  int code;
  int signal;
};

TEST_CASE("each ending has the code of the contract") {
  const Row rows[] = {
      {Ending::command_exited, 0, 0, 0},
      {Ending::command_exited, 1, 1, 0},
      {Ending::command_exited, 75, 75, 0},
      {Ending::command_exited, 255, 255, 0},
      {Ending::command_killed, SIGTERM, 143, SIGTERM},
      {Ending::command_killed, SIGKILL, 137, SIGKILL},
      {Ending::command_killed, SIGSEGV, 139, SIGSEGV},
      {Ending::interrupted, SIGINT, 130, SIGINT},
      {Ending::held, 0, 75, 0},
      {Ending::unavailable, 0, 69, 0},
      {Ending::denied, 0, 77, 0},
      {Ending::misconfigured, 0, 78, 0},
      {Ending::not_executable, ENOENT, 127, 0},
      {Ending::not_executable, EACCES, 126, 0},
      {Ending::not_executable, ENOTDIR, 126, 0},
      {Ending::not_executable, ENOEXEC, 126, 0},
      {Ending::not_executable, E2BIG, 126, 0},
      {Ending::not_started, EAGAIN, 71, 0},
      {Ending::max_run, 0, 124, 0},
      {Ending::lost, 0, 122, 0},
      {Ending::survivors, 0, 123, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.ending));
    CAPTURE(row.value);
    const ProcessEnd end = process_end({.ending = row.ending, .value = row.value}, 75);
    CHECK(end.code == row.code);
    CHECK(end.signal == row.signal);
  }
}

TEST_CASE("every exit status of COMMAND is passed on, and every signal") {
  for (int status = 0; status <= 255; ++status) {
    const ProcessEnd end = process_end({.ending = Ending::command_exited, .value = status}, 75);
    CHECK(end.code == status);
    CHECK(end.signal == 0);
  }
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const ProcessEnd end = process_end({.ending = Ending::command_killed, .value = signal}, 75);
    CHECK(end.code == 128 + signal);
    CHECK(end.signal == signal);
  }
}

TEST_CASE("-E changes what a held lock gives, and nothing else") {
  for (const int code : {0, 1, 99, 255}) {
    CAPTURE(code);
    CHECK(process_end({.ending = Ending::held}, code).code == code);
    CHECK(process_end({.ending = Ending::command_exited, .value = 75}, code).code == 75);
    CHECK(process_end({.ending = Ending::unavailable}, code).code == 69);
    CHECK(process_end({.ending = Ending::lost}, code).code == 122);
  }
}

TEST_CASE("no two of our own codes are the same") {
  const std::set<int> codes = {kExitUsage,  kExitUnavailable, kExitInternal,      kExitOsError,
                               kExitHeld,   kExitDenied,      kExitConfig,        kExitLost,
                               kExitMaxRun, kExitSurvivors,   kExitNotExecutable, kExitNotFound};
  CHECK(codes == std::set<int>{64, 69, 70, 71, 75, 77, 78, 122, 123, 124, 126, 127});
}

}  // namespace
}  // namespace redlock::app
