// What a storm leaves behind, and what must not be found in it. Pure: judged from the record alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/job_log.h"

namespace redlock::chaos {

/// One run of redlock-run, from start to end (CLOCK_BOOTTIME ns).
struct RunRecord {
  std::string name;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::string how;
  std::string err;
  /// Endings that are its due because of what was done to its processes.
  std::vector<std::string> due;
};

/// No majority of servers could be reached from `from` to `until`.
struct Outage {
  std::int64_t from = 0;
  std::int64_t until = 0;
};

struct Record {
  std::int64_t ttl = 0;
  test::JobLog log;
  std::vector<RunRecord> runs;
  std::vector<Outage> outages;
};

/// How a job that nobody disturbs ends.
extern const std::string kUndisturbed;
/// A lost lease.
extern const std::string kLost;

/// Each says what is wrong in one line for each finding; empty when all is well.
/// Two jobs alive at the same time.
std::vector<std::string> overlaps(const Record& record);
/// Fencing numbers that do not grow.
std::vector<std::string> fence_faults(const Record& record);
/// Jobs that lived on without a majority when the last lease must have run out.
std::vector<std::string> outlived(const Record& record);
/// Runs that ended in a way that nothing explains: above all, leases lost for no reason.
std::vector<std::string> wrong_endings(const Record& record);
/// All of these.
std::vector<std::string> findings(const Record& record);

}  // namespace redlock::chaos
