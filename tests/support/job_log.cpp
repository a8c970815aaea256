#include "support/job_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

namespace redlock::test {
namespace {

std::vector<std::string> runs_that_entered(const JobLog& log) {
  std::set<std::string> names;
  for (const Stamp& stamp : log) {
    if (stamp.what == "enter") names.insert(stamp.run);
  }
  return {names.begin(), names.end()};
}

}  // namespace

void append_stamp(const char* path, const char* what, const char* run) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  std::array<char, 256> line{};
  const int length = std::snprintf(
      line.data(), line.size(), "%s %s %ld %lld\n", what, run, static_cast<long>(::getpid()),
      static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
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
    if (fields >> stamp.what >> stamp.run >> stamp.pid >> stamp.at) log.push_back(stamp);
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
  std::vector<std::string> runs = runs_that_entered(log);
  std::sort(runs.begin(), runs.end(), [&log](const std::string& a, const std::string& b) {
    return entered(log, a) < entered(log, b);
  });
  // Sorted by start, an overlap exists exactly when a run starts before the latest end so far.
  std::int64_t latest_end = -1;
  std::string longest;
  for (const std::string& run : runs) {
    if (entered(log, run) <= latest_end) {
      return "run " + run + " entered " +
             std::to_string((latest_end - entered(log, run)) / 1'000'000) +
             " ms before the last sign of life of run " + longest;
    }
    latest_end = last_sign_of_life(log, run);
    longest = run;
  }
  return {};
}

}  // namespace redlock::test
