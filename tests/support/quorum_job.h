// A job that holds its lock on several servers while a test does things to them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/quorum.h"
#include "support/temp_dir.h"

namespace redlock::test {

/// Beats until told to go, with exit status 11; so does a child that ignores SIGTERM.
class QuorumJob {
 public:
  explicit QuorumJob(std::size_t servers) : QuorumJob(Quorum(servers)) {}
  explicit QuorumJob(Quorum servers) : quorum(std::move(servers)) {}

  Quorum quorum;
  TempDir dir;
  const std::string log = dir.file("log");

  /// Starts it and waits until it beats.
  Run start(const std::vector<std::string>& options, const std::vector<std::string>& under = {});
  /// The token that a majority of servers has; empty when there is none.
  std::string token() { return quorum.agreed(key_); }
  /// Waits until server `index` has the token `value`.
  bool carries(std::size_t index, const std::string& value);
  /// Waits until every server has the token `value`.
  bool all_carry(const std::string& value);
  /// Waits until every server of from..to-1 has answered requests in so many rounds from now on; of
  /// the first, part may have been under way.
  void see_renewals(std::size_t from, std::size_t to, int rounds = 2);

  /// Lets it go: it must have lived undisturbed until now.
  void check_unharmed(Run& run);
  /// It must end with 122, and all of it be dead at `deadline` (CLOCK_BOOTTIME ns).
  void check_lost(Run& run, std::int64_t deadline);

 private:
  std::size_t alive() const;

  const std::string key_ = "lock:job";
};

/// The lines of a text.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace redlock::test
