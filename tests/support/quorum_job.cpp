#include "support/quorum_job.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "support/job_log.h"
#include "support/lock_run.h"
#include "support/process.h"

namespace redlock::test {

Run QuorumJob::start(const std::vector<std::string>& options,
                     const std::vector<std::string>& under) {
  Run run = probe_job(quorum, options,
                      {"enter", log, "job", "spawn", "deaf", log, "job", "beat-until", log, "job",
                       dir.file("go"), "exit", "11"})
                .under(under)
                .start();
  const bool beats =
      wait_until([this, &run] { return pids_of(read_log(log), "job").size() == 2 || run.ended(); });
  REQUIRE_MESSAGE((beats && !run.ended()), "no job: " << run.err());
  return run;
}

bool QuorumJob::carries(std::size_t index, const std::string& value) {
  return wait_until([&] { return quorum[index].get(key_) == value; });
}

bool QuorumJob::all_carry(const std::string& value) {
  return wait_until([&] { return quorum.count(key_, value) == quorum.size(); });
}

void QuorumJob::see_renewals(std::size_t from, std::size_t to, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    quorum.each(from, to, [](RedisServer& server) { server.reset_counters(); });
    quorum.each(from, to, [](RedisServer& server) {
      CHECK(wait_until([&server] { return server.script_calls() > 0; }));
    });
  }
}

std::size_t QuorumJob::alive() const {
  const auto pids = pids_of(read_log(log), "job");
  return static_cast<std::size_t>(std::count_if(pids.begin(), pids.end(), is_running));
}

void QuorumJob::check_unharmed(Run& run) {
  INFO("stderr: ", run.err());
  REQUIRE(!run.ended());
  CHECK(alive() == 2);
  for (const pid_t pid : children_of(run.command())) ::kill(pid, SIGKILL);
  touch(dir.file("go"));
  CHECK_ENDING(run.wait(), exit_with(11));
  CHECK(count(read_log(log), "enter") == 1);
}

void QuorumJob::check_lost(Run& run, std::int64_t deadline) {
  CHECK_ENDING(run.wait(), exit_with(122));
  CHECK(last_sign_of_life(read_log(log), "job") < deadline);
  CHECK(alive() == 0);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream input(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

}  // namespace redlock::test
