// One server as the lock sees it: takes requests, gives exactly one outcome for each. Knows where
// the server lives now; connects, authenticates and reconnects by itself; never sends a request
// twice (deciding to try again is the lock's business).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/node_io.h"
#include "redis/peer.h"

namespace redlock::redis {

/// Implementations differ in how they find the server: a fixed address, Sentinel, Cluster.
class Node {
 public:
  /// Takes the outcome of one request. Called from within send(), tick() or the event loop; must
  /// only note it down, not call back into the node.
  using Sink = std::function<void(core::RequestId, core::Outcome)>;

  /// Told when the connection begins or ceases to stand, or turns out doubtful. While it stands,
  /// every request that is unanswered is on its way. May be called wherever a Sink may.
  enum class Link {
    down,
    up,
    doubtful,  ///< up, and what it has said so far is not what a server for locks says
  };
  using LinkSink = std::function<void(Link)>;

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  /// Queues one request behind all earlier ones. Requests are executed in the order in which they
  /// are sent as long as the connection lives; when it breaks, all that are unanswered end as
  /// `unknown`.
  virtual void send(const core::Request& request, TimePoint now) = 0;
  /// The next time at which tick() has something to do; never() when nothing is outstanding.
  virtual TimePoint wakeup() const = 0;
  /// Enforces the time limits of connecting and of answers.
  virtual void tick(TimePoint now) = 0;
  /// Whom the connection has reached; nullopt while none stands, and where there is one node only.
  virtual const std::optional<Peer>& peer() const = 0;
  /// How messages name the server; never contains a password.
  virtual const std::string& name() const = 0;
};

}  // namespace redlock::redis
