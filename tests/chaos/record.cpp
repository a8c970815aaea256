#include "chaos/record.h"

#include <algorithm>

namespace redlock::chaos {
namespace {

/// Until a majority that has come back has been heard of, jobs may still be lost.
bool lived_through(const RunRecord& run, const Outage& outage, std::int64_t ttl) {
  return run.started <= outage.until + ttl && run.ended >= outage.from;
}

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

std::vector<std::string> list_of(const std::string& finding) {
  if (finding.empty()) return {};
  return {finding};
}

}  // namespace

const std::string kUndisturbed = "exit 11";
const std::string kLost = "exit 122";

std::vector<std::string> overlaps(const Record& record) {
  return list_of(test::overlap(record.log));
}

std::vector<std::string> fence_faults(const Record& record) {
  return list_of(test::fence_disorder(record.log));
}

std::vector<std::string> outlived(const Record& record) {
  std::vector<std::string> found;
  for (const Outage& outage : record.outages) {
    const std::int64_t end = outage.from + record.ttl;
    for (const test::Stamp& stamp : record.log) {
      if (stamp.at < end || stamp.at >= outage.until) continue;
      found.push_back("run " + stamp.run + " was alive (" + stamp.what + ") " +
                      std::to_string((stamp.at - end) / 1'000'000) +
                      " ms after the last lease before an outage had ended");
      break;
    }
  }
  return found;
}

std::vector<std::string> wrong_endings(const Record& record) {
  std::vector<std::string> found;
  for (const RunRecord& run : record.runs) {
    if (run.how == kUndisturbed || contains(run.due, run.how)) continue;
    const bool outage =
        std::any_of(record.outages.begin(), record.outages.end(),
                    [&](const Outage& one) { return lived_through(run, one, record.ttl); });
    if (run.how == kLost && outage) continue;
    found.push_back("run " + run.name + " ended with " + run.how + " for no reason: " + run.err);
  }
  return found;
}

std::vector<std::string> findings(const Record& record) {
  std::vector<std::string> all;
  for (const auto& check : {overlaps, fence_faults, outlived, wrong_endings}) {
    const std::vector<std::string> found = check(record);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace redlock::chaos
