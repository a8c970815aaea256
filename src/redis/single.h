// A server at a fixed address (redis:// or unix://). Finds the address afresh for every connection,
// keeps one connection as long as it works, and ends every request with exactly one outcome.
// Decides nothing about the lock and never repeats a request.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "os/event_loop.h"
#include "redis/connection.h"
#include "redis/lock_text.h"
#include "redis/node.h"
#include "redis/reply.h"
#include "redis/resolver.h"
#include "redis/url.h"

namespace redlock::redis {

/// How long a server is given.
struct NodeLimits {
  /// From the first request without a connection until the server is ready for it: resolving,
  /// connecting, AUTH and SELECT.
  Duration connect;
  /// For the oldest unanswered request on a ready connection; beyond it the connection is dropped
  /// as dead. Not the time that the lock waits for a vote, which is shorter.
  Duration silence;
};

/// `loop`, `resolver` and `identity` must outlive it. Destroying it hands what is queued on a ready
/// connection to the kernel, closes, and reports nothing more.
class SingleNode : public Node {
 public:
  SingleNode(Url url, NodeLimits limits, os::EventLoop& loop, Resolver& resolver,
             const LockIdentity& identity, Sink sink, LinkSink link = {});
  ~SingleNode() override;

  void send(const core::Request& request, TimePoint now) override;
  /// past() asks for a tick() at once: what the loop brought about still needs a time.
  TimePoint wakeup() const override;
  void tick(TimePoint now) override;
  const std::optional<Peer>& peer() const override { return peer_; }
  const std::string& name() const override { return name_; }

 private:
  enum class State {
    idle,        ///< no connection, nothing asked
    resolving,   ///< waits for the resolver
    connecting,  ///< waits for the socket to one of the addresses
    greeting,    ///< connected, waits for AUTH and SELECT
    ready,       ///< requests go out as they come
  };
  enum class Question { auth, select, script, role };
  /// One reply that is still to come.
  struct Expected {
    Question question = Question::script;
    /// script, role: the request whose outcome depends on it.
    core::Request request;
    /// role: what the script's reply said and ROLE is to explain.
    Verdict claim;
    /// Empty until the next tick() when no time was at hand.
    std::optional<TimePoint> since;
  };

  void find_addresses(TimePoint now);
  void connect_next();
  void fail_address(const std::string& reason);
  void on_news(const Connection::News& news);
  void greet();
  void become_ready();
  void ask(const core::Request& request, std::optional<TimePoint> now);
  void on_reply(const Reply& reply);
  void settle(const core::Request& request, Verdict verdict);
  void tick_connecting(TimePoint now);
  void tick_ready(TimePoint now);
  /// Ends everything unanswered with `outcome` and starts afresh at the next send().
  void give_up(const core::Outcome& outcome);

  const Url url_;
  const NodeLimits limits_;
  os::EventLoop& loop_;
  Resolver& resolver_;
  const LockIdentity& identity_;
  const Sink sink_;
  const LinkSink link_;
  const std::string name_;
  const std::string fence_key_;

  State state_ = State::idle;
  std::unique_ptr<Resolver::Query> query_;
  /// Those not yet tried, and the first failure among the others.
  std::deque<Address> addresses_;
  std::string failure_;
  std::unique_ptr<Connection> connection_;
  std::optional<Peer> peer_;
  /// Whether this connection has ever brought a reply.
  bool heard_ = false;
  /// For being ready; and for the address being tried, empty until the next tick().
  TimePoint deadline_;
  std::optional<TimePoint> address_deadline_;
  /// Requests that wait for a connection, then replies that are due on it, both oldest first.
  std::deque<core::Request> waiting_;
  std::deque<Expected> expected_;
  /// Set by a reply after which this connection is not to be used any more.
  std::optional<std::string> drop_reason_;
};

}  // namespace redlock::redis
