// What is worth saying of the servers of a quorum while all is well on the whole: a list that
// cannot bear what it seems to, servers that may not say how long they have been up, and, once a
// run, those that do not answer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/lease.h"

namespace redlock::app {

/// Why a list of so many servers is a poor one; empty when it is not.
std::string list_advice(std::size_t servers);

class ServerWatch {
 public:
  /// `lease` must outlive it; `names` are the servers' by index.
  ServerWatch(const core::Lease& lease, std::vector<std::string> names)
      : lease_(lease), names_(std::move(names)) {}

  /// The lines that have become due, each once a run. To be asked while the lease is held, and at
  /// its release with `last`, when nothing is waited for any more.
  std::vector<std::string> due(TimePoint now, bool last);
  /// When due() may have something to say if nothing happens before.
  TimePoint wakeup() const;

 private:
  bool is_due(const core::NodeReport& report, TimePoint now) const;
  std::string missing(TimePoint now, bool last) const;
  std::string twins() const;
  std::string hidden_uptimes() const;

  const core::Lease& lease_;
  const std::vector<std::string> names_;
  bool missing_said_ = false;
  bool twins_said_ = false;
  bool hidden_said_ = false;
};

}  // namespace redlock::app
