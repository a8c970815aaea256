// What COMMAND finds in its environment, and what nobody is to find in ours.
#pragma once

#include <string>
#include <vector>

#include "base/strong.h"
#include "base/time.h"

namespace redlock::app {

/// What the job is told about its lock.
struct LockFacts {
  LockName name;
  LockKey key;
  Token token;
  FencingToken fence;
  Duration ttl;
};

/// The environment `inherited` (ends with nullptr) as COMMAND gets it, one NAME=VALUE each: our
/// secrets and the notification variables taken out, the REDLOCK_ ones put in. A LISTEN_PID that
/// names this process has room for 12 bytes as its value.
std::vector<std::string> command_environment(char* const* inherited, const LockFacts& facts);

/// Where the value of LISTEN_PID begins if it names this process; nullptr otherwise.
char* find_listen_pid(std::vector<std::string>& environment);

/// Overwrites, in place, every password that the arguments and the environment of this process
/// carry, where ps and /proc show them to others.
void hide_passwords(int argc, char** argv, char** environment);

}  // namespace redlock::app
