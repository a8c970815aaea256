// One host's connection to one server of its list, as redis/single.h keeps it, and the network
// under it: requests are executed in the order in which they are sent on one connection, in any
// order across connections. What was sent before a connection broke, or before its process ended,
// may still be executed; its answer is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/node_io.h"
#include "sim/node.h"
#include "sim/schedule.h"

namespace redlock::sim {

class Host;
class World;

enum class Way { there, back, both };

class Link {
 public:
  /// To the `entry`th server of the host's list, which is `node`.
  Link(World& world, Host& host, std::size_t entry, Node& node);

  void send(const Message& message);
  /// The process ends: its kernel still delivers what was sent.
  void close();
  /// The connection breaks; the process is told.
  void break_off();
  /// What is sent that way arrives only after `until`; never(): after heal().
  void silence(Way way, TimePoint until);
  void heal();
  void server_crashed();
  /// Lets arrive what is due and no longer held up.
  void pump();

  bool up() const { return up_; }
  std::size_t node() const { return node_.index; }
  /// The last moment at which something was wrong here or with the server; never() while it is.
  TimePoint disturbed() const;

 private:
  struct Answered {
    TimePoint at;
    core::RequestId request;
    core::Outcome outcome;
    bool hang_up = false;
  };
  struct Asked {
    TimePoint at;
    Message message;
  };
  struct Connection {
    std::deque<Asked> there;
    std::deque<Answered> back;
    TimePoint last_there = TimePoint::past();
    TimePoint last_back = TimePoint::past();
    bool heard = true;  ///< the process still listens to it
  };
  struct Owed {
    core::RequestId request;
    TimePoint since;
  };

  void connect();
  void try_connect(std::uint64_t number, TimePoint deadline);
  /// The process has no connection any more, and learns it.
  void lose();
  void abandon_connection(bool delivers);
  void transmit(const Message& message);
  void pump_there(std::uint64_t number);
  void pump_back(std::uint64_t number);
  void answer(const Answered& answered);
  void watch(std::uint64_t number);
  Duration delay() const;

  World& world_;
  Host& host_;
  const std::size_t entry_;
  Node& node_;
  std::uint64_t number_ = 0;  ///< of the connection, or of the attempt to make one
  bool up_ = false;
  bool connecting_ = false;
  bool watching_ = false;
  std::map<std::uint64_t, Connection> connections_;
  std::vector<Message> waiting_;  ///< for a connection
  std::deque<Owed> owed_;         ///< answers, oldest first
  TimePoint silent_there_ = TimePoint::past();
  TimePoint silent_back_ = TimePoint::past();
  TimePoint disturbed_ = TimePoint::past();
};

}  // namespace redlock::sim
