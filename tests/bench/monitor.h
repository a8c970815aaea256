// Watches a Redis server from outside (MONITOR): when which request arrived. The server stamps its
// lines with the clock of this machine, so that they fit between the times of an Execution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace redlock::bench {

/// A command that the server executed.
struct Seen {
  double at_ms = 0;  ///< on clock_ms()
  bool by_script = false;
  std::string command;  ///< in capitals
};

/// Does the command ask for the lock? For what belongs to a lock wrapper: SET, EVAL, EVALSHA.
bool is_lock_request(const Seen& seen);

class Monitor {
 public:
  /// Connects to 127.0.0.1; a server that does not answer ends the bench.
  explicit Monitor(std::uint16_t port);

  /// What was executed since the last call, in order.
  std::vector<Seen> take();

 private:
  std::string read_line();

  UniqueFd watching_;
  UniqueFd asking_;
  std::string unread_;
  int marks_ = 0;
};

}  // namespace redlock::bench
