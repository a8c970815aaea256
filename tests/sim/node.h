// One server: the semantics of the scripts (src/redis/scripts.h), expiry by its own clock, crashes
// and restarts with and without memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/node_io.h"
#include "sim/schedule.h"

namespace redlock::sim {

class World;

/// A request on its way, with what the program puts into the command beside it.
struct Message {
  core::Request request;
  std::uint64_t run = 0;
  TimePoint sent;           ///< true time
  std::uint64_t floor = 0;  ///< wall clock of its host in ms when the attempt was begun
};

struct Key {
  std::uint64_t run = 0;  ///< kStranger: not one of ours
  core::Attempt attempt;
  TimePoint expires;  ///< by the server's own clock
  TimePoint sent;     ///< true time at which the request was sent that set or renewed it last
};

/// Somebody who uses the name without redlock-run.
inline constexpr std::uint64_t kStranger = 0;

/// What a server remembers after a restart.
enum class Memory {
  kept,
  lost,
  stale,  ///< the last snapshot
};

class Node {
 public:
  Node(World& world, std::size_t index, Clock clock);

  core::Outcome execute(const Message& message);

  /// The key, if there is one that has not expired.
  const Key* key();
  bool holds(std::uint64_t run, core::Attempt attempt);
  TimePoint local() const;

  /// Down at once; connections break, and are refused until start().
  void crash(Memory memory);
  void start();
  bool running() const { return running_; }
  /// Executes nothing before `until` (SIGSTOP); never(): until go_on().
  void hang(TimePoint until);
  void go_on();
  TimePoint hangs_until() const { return hangs_until_; }
  /// Writes a snapshot.
  void save() { saved_ = memory_; }
  /// A stranger sets the key for `ttl`.
  void take_for_stranger(Duration ttl);
  void set_ppm(std::int64_t ppm) { clock_.ppm = ppm; }
  /// The last moment at which it was not in order; never() while it is not.
  TimePoint disturbed() const;
  /// As Redis says it.
  std::int64_t uptime_seconds() const;

  const std::size_t index;

 private:
  struct State {
    std::optional<Key> key;
    std::uint64_t counter = 0;
  };

  core::Outcome acquire(const Message& message);
  core::Outcome renew(const Message& message);
  core::Outcome release(const Message& message);
  core::Outcome held_by(const Key& key) const;
  void set_key(const Message& message);
  void drop_key(std::uint64_t by);

  World& world_;
  Clock clock_;
  State memory_;
  State saved_;
  bool running_ = true;
  std::uint64_t starts_ = 0;
  std::int64_t started_at_ = 0;  ///< in seconds by its own clock
  TimePoint hangs_until_ = TimePoint::past();
  TimePoint disturbed_ = TimePoint::past();
};

}  // namespace redlock::sim
