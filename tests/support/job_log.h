// The log that jobs under a lock keep themselves: one line per sign of life, appended in one write.
// The proof of exclusion is made from it alone, never from what redlock-run says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::test {

/// A process of run `run` was alive at `at` (CLOCK_BOOTTIME ns) and did `what`: enter, beat, leave,
/// or term when it caught SIGTERM. An enter carries the REDLOCK_FENCE of its process, 0 for none.
struct Stamp {
  std::string what;
  std::string run;
  pid_t pid = 0;
  std::int64_t at = 0;
  std::int64_t fence = 0;
};

/// Appends a stamp of the calling process. The time is read before the write, so a stamp never
/// claims life later than it was seen. Async-signal-safe after the first call.
void append_stamp(const char* path, const char* what, const char* run);

using JobLog = std::vector<Stamp>;

/// All complete lines, in file order. A missing file is an empty log.
JobLog read_log(const std::string& path);

/// Stamps of this kind, of all runs or of one.
std::size_t count(const JobLog& log, const std::string& what, const std::string& run = "");
/// The pids that left a stamp in `run`, each once.
std::vector<pid_t> pids_of(const JobLog& log, const std::string& run);
/// First enter of `run`; -1 when it never entered.
std::int64_t entered(const JobLog& log, const std::string& run);
/// Last stamp of any process of `run`; -1 when there is none.
std::int64_t last_sign_of_life(const JobLog& log, const std::string& run);

/// Says which two runs were alive at the same time; empty when there are none. A run lasts from
/// its first enter to the last sign of life of any of its processes.
std::string overlap(const JobLog& log);

/// Says which run entered with a fencing number that is not larger than all before; empty when
/// there is none. No number at all counts as 0.
std::string fence_disorder(const JobLog& log);

}  // namespace redlock::test
