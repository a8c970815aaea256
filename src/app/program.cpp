#include "app/program.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "app/environment.h"
#include "app/options.h"
#include "app/runtime.h"
#include "base/log.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace redlock::app {
namespace {

int print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : kExitOsError;
}

const char* get_environment(const char* name) {
  return std::getenv(name);
}

ProcessEnd run(int argc, char** argv, char** environment) {
  const os::InheritedSignals signals = os::block_signals();
  os::occupy_standard_descriptors();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto parsed = parse_options(arguments, get_environment);
  hide_passwords(argc, argv, environment);
  if (const auto* information = std::get_if<Information>(&parsed)) {
    return {.code = print(information->text)};
  }
  if (const auto* mistake = std::get_if<UsageError>(&parsed)) {
    Log("redlock-run", LogLevel::error).error(mistake->message);
    return {.code = mistake->code};
  }
  const Options& options = std::get<Options>(parsed);
  return process_end(Runtime(options, signals, environment).run(), options.held_code);
}

}  // namespace

ProcessEnd run_program(int argc, char** argv, char** environment) {
  try {
    return run(argc, argv, environment);
  } catch (const std::exception& error) {
    // Of a library, or memory ran out. On the way here the guard lost its front and stops COMMAND.
    Log("redlock-run", LogLevel::error).error(std::string("internal error: ") + error.what());
    return {.code = kExitInternal};
  }
}

}  // namespace redlock::app
