// One of those who want the lock: runs job after job under it, of random shapes, without end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "chaos/record.h"
#include "support/quorum.h"

namespace redlock::chaos {

using Dice = std::mt19937_64;

/// A number of least..most, both included.
std::int64_t roll(Dice& dice, std::int64_t least, std::int64_t most);
/// True once in `in` times.
bool one_in(Dice& dice, std::int64_t in);

class Contender {
 public:
  /// `quorum` must outlive it; its jobs write to the file `log`.
  Contender(std::string name, const test::Quorum& quorum, std::vector<std::string> options,
            std::string log, std::uint64_t seed);

  /// Notes the end of a run, if there is one, in `done`, and starts the next unless it is to rest.
  void tick(std::vector<RunRecord>& done);
  /// Starts no more runs.
  void rest() { resting_ = true; }
  bool is_running() const { return run_.has_value(); }

  /// The front process of its run, -1 when there is none.
  pid_t front() const { return run_ ? run_->pid() : -1; }
  /// The guard of its run, -1 when there is none at this moment.
  pid_t guard() const;
  /// Whether its run is undisturbed; a run is disturbed once at most.
  bool is_untouched() const { return run_ && current_.due.empty(); }
  /// Notes how its run may end because of what is about to be done to it.
  void disturb(const std::vector<std::string>& due) { current_.due = due; }
  /// Whether the run `name` is one of its own.
  bool owns(const std::string& name) const { return name.rfind(name_ + ".", 0) == 0; }

 private:
  std::vector<std::string> next_job();
  void start();

  const std::string name_;
  const test::Quorum& quorum_;
  const std::vector<std::string> options_;
  const std::string log_;
  Dice dice_;
  std::size_t runs_ = 0;
  bool resting_ = false;
  std::optional<test::Run> run_;
  RunRecord current_;
};

}  // namespace redlock::chaos
