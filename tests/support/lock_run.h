// The program under test and its helper program, ready to be launched.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/launch.h"
#include "support/redis_server.h"

namespace redlock::test {

/// Path of redlock-run: environment RR_BINARY, else the build's.
std::string binary();
/// Path of the probe (see probe.cpp): environment RR_PROBE, else the build's.
std::string probe();

/// redlock-run with these arguments, COMMAND included.
Launch redlock(const std::vector<std::string>& args);
/// The same with -r for `server` before them.
Launch lock(const RedisServer& server, const std::vector<std::string>& args);
/// lock() with `options`, the name "job", and the probe with `actions` as COMMAND.
Launch probe_job(const RedisServer& server, const std::vector<std::string>& options,
                 const std::vector<std::string>& actions);

/// The key of the lock that probe_job() takes.
inline const std::string kJobKey = "lock:job";
/// The counter beside it.
inline const std::string kJobFence = "{lock:job}:fence";

/// True when nothing but fencing counters is left on the server.
bool only_fences_left(RedisServer& server);

bool contains(const std::string& text, const std::string& part);
/// The pieces of a text in which each piece ends with a NUL.
std::vector<std::string> split_at_nul(const std::string& text);

}  // namespace redlock::test

namespace doctest {

/// Shows lists of words in failure messages.
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& words) {
    std::string shown;
    for (const std::string& word : words) shown += "[" + word + "]";
    return shown.c_str();
  }
};

}  // namespace doctest
