// The checks of the chaos run: each must call a record broken in which it was broken.
#include <doctest/doctest.h>

#include "chaos/record.h"

TEST_SUITE_BEGIN("chaos checks");

namespace redlock::chaos {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Two jobs, one after the other; an outage of 3 s follows.
Record sound_record() {
  Record record;
  record.ttl = 2'000 * kMs;
  record.log = {{"enter", "a", 1, 100 * kMs, 7},
                {"beat", "a", 2, 150 * kMs, 0},
                {"leave", "a", 1, 200 * kMs, 0},
                {"enter", "b", 3, 300 * kMs, 8},
                {"beat", "b", 3, 2'400 * kMs, 0}};
  record.runs = {{"a", 50 * kMs, 210 * kMs, kUndisturbed, "", {}},
                 {"b", 60 * kMs, 2'500 * kMs, kLost, "", {}}};
  record.outages = {{1'000 * kMs, 4'000 * kMs}};
  return record;
}

TEST_CASE("a sound record has no findings") {
  CHECK(findings(sound_record()).empty());
  CHECK(findings({}).empty());
}

TEST_CASE("a sign of life of a child after the next has entered is an overlap") {
  Record record = sound_record();
  record.log[1].at = 301 * kMs;
  CHECK(overlaps(record).size() == 1);
  CHECK(findings(record).size() == 1);
}

TEST_CASE("a fencing number that does not grow is found") {
  Record record = sound_record();
  record.log[3].fence = 7;
  CHECK(fence_faults(record).size() == 1);
  CHECK(findings(record).size() == 1);
}

TEST_CASE("a sign of life after the last lease of an outage is found, and only until its end") {
  Record record = sound_record();
  record.log[4].at = 2'999 * kMs;
  CHECK(outlived(record).empty());
  record.log[4].at = 3'000 * kMs;
  CHECK(outlived(record).size() == 1);
  CHECK(findings(record).size() == 1);
  record.log[4].at = 4'000 * kMs;
  CHECK(outlived(record).empty());
}

TEST_CASE("a lease that is lost without an outage is found") {
  Record record = sound_record();
  record.outages.clear();
  CHECK(wrong_endings(record).size() == 1);
  CHECK(findings(record).size() == 1);
}

TEST_CASE("a lease that is lost before an outage, or long after it, is found") {
  Record record = sound_record();
  record.outages = {{2'501 * kMs, 4'000 * kMs}};
  CHECK(wrong_endings(record).size() == 1);
  record.runs[1].started = 6'001 * kMs;
  record.runs[1].ended = 7'000 * kMs;
  CHECK(wrong_endings(record).size() == 1);
  record.runs[1].started = 6'000 * kMs;
  CHECK(wrong_endings(record).empty());
}

TEST_CASE("an ending is only excused by what was done to the processes of that run") {
  Record record = sound_record();
  record.runs[0].how = "signal 9";
  CHECK(wrong_endings(record).size() == 1);
  record.runs[1].due = {"signal 9"};
  CHECK(wrong_endings(record).size() == 1);
  record.runs[0].due = {"signal 9"};
  CHECK(wrong_endings(record).empty());
}

TEST_CASE("an ending that nothing can excuse is found in an outage, too") {
  Record record = sound_record();
  for (const char* how : {"exit 75", "exit 69", "exit 123", "exit 70", "signal 6"}) {
    record.runs[1].how = how;
    CHECK(wrong_endings(record).size() == 1);
  }
}

}  // namespace
}  // namespace redlock::chaos

TEST_SUITE_END();
