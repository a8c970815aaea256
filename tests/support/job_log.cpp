#include "support/job_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace redlock::test {
namespace {

/// The first enter of each run, in order of time.
std::vector<Stamp> entries(const JobLog& log) {
  std::map<std::string, Stamp> first;
  for (const Stamp& stamp : log) {
    if (stamp.what != "enter") continue;
    const auto [known, is_new] = first.try_emplace(stamp.run, stamp);
    if (!is_new && stamp.at < known->second.at) known->second = stamp;
  }
  std::vector<Stamp> sorted;
  for (const auto& [run, stamp] : first) sorted.push_back(stamp);
  std::sort(sorted.begin(), sorted.end(),
            [](const Stamp& a, const Stamp& b) { return a.at < b.at; });
  return sorted;
}

/// The last sign of life of each run that left any.
std::map<std::string, std::int64_t> last_signs(const JobLog& log) {
  std::map<std::string, std::int64_t> last;
  for (const Stamp& stamp : log) {
    const auto [known, is_new] = last.try_emplace(stamp.run, stamp.at);
    if (!is_new) known->second = std::max(known->second, stamp.at);
  }
  return last;
}

}  // namespace

void append_stamp(const char* path, const char* what, const char* run) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const char* const given =
      std::strcmp(what, "enter") == 0 ? std::getenv("REDLOCK_FENCE") : nullptr;
  const char* const fence = given != nullptr ? given : "0";
  std::array<char, 256> line{};
  const int length = std::snprintf(
      line.data(), line.size(), "%s %s %ld %lld %s\n", what, run, static_cast<long>(::getpid()),
      static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec, fence);
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  // A lost stamp makes a run look shorter; the tests that need one wait until they see it.
  if (::write(fd, line.data(), static_cast<std::size_t>(length)) < 0) ::_exit(74);
  ::close(fd);
}

JobLog read_log(const std::string& path) {
  std::ifstream file(path);
  JobLog log;
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // no newline: still being written
    std::istringstream fields(line);
    Stamp stamp;
    if (fields >> stamp.what >> stamp.run >> stamp.pid >> stamp.at >> stamp.fence) {
      log.push_back(stamp);
    }
  }
  return log;
}

std::size_t count(const JobLog& log, const std::string& what, const std::string& run) {
  return static_cast<std::size_t>(std::count_if(log.begin(), log.end(), [&](const Stamp& stamp) {
    return stamp.what == what && (run.empty() || stamp.run == run);
  }));
}

std::vector<pid_t> pids_of(const JobLog& log, const std::string& run) {
  std::set<pid_t> pids;
  for (const Stamp& stamp : log) {
    if (stamp.run == run) pids.insert(stamp.pid);
  }
  return {pids.begin(), pids.end()};
}

std::int64_t entered(const JobLog& log, const std::string& run) {
  std::int64_t first = -1;
  for (const Stamp& stamp : log) {
    if (stamp.run != run || stamp.what != "enter") continue;
    if (first < 0 || stamp.at < first) first = stamp.at;
  }
  return first;
}

std::int64_t last_sign_of_life(const JobLog& log, const std::string& run) {
  std::int64_t last = -1;
  for (const Stamp& stamp : log) {
    if (stamp.run == run) last = std::max(last, stamp.at);
  }
  return last;
}

std::string overlap(const JobLog& log) {
  const std::map<std::string, std::int64_t> ends = last_signs(log);
  // Sorted by start, an overlap exists exactly when a run starts before the latest end so far.
  std::int64_t latest_end = -1;
  std::string longest;
  for (const Stamp& entry : entries(log)) {
    if (entry.at <= latest_end) {
      return "run " + entry.run + " entered " +
             std::to_string((latest_end - entry.at) / 1'000'000) +
             " ms before the last sign of life of run " + longest;
    }
    latest_end = ends.at(entry.run);
    longest = entry.run;
  }
  return {};
}

std::string fence_disorder(const JobLog& log) {
  Stamp before;
  for (const Stamp& entry : entries(log)) {
    if (entry.fence <= before.fence) {
      return "run " + entry.run + " entered with " + std::to_string(entry.fence) + " after " +
             (before.run.empty() ? "nobody" : "run " + before.run + " with ") +
             (before.run.empty() ? "" : std::to_string(before.fence));
    }
    before = entry;
  }
  return {};
}

}  // namespace redlock::test
