// One connection to one address, by hiredis' asynchronous API on our event loop. Knows nothing of
// locks: commands go out in order, replies come back in that order, and at the end stands one
// breakdown. Resolves no names, has no time limits, never reconnects.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "os/event_loop.h"
#include "redis/reply.h"
#include "redis/resolver.h"

struct redisAsyncContext;

namespace redlock::redis {

/// Reports from the event loop only, once a turn, as the last thing it does: the listener may
/// destroy it. Destroying it hands unsent commands to the kernel if that takes them at once, closes
/// the socket and reports nothing more.
class Connection {
 public:
  enum class End {
    refused,    ///< it never stood
    lost,       ///< it broke or was closed by the server
    not_redis,  ///< the peer sent something that is not the Redis protocol
  };
  struct Breakdown {
    End end = End::lost;
    std::string reason;  ///< the system's or hiredis' words
  };
  /// What one turn of the loop brought, in the order of the members.
  struct News {
    bool connected = false;
    std::vector<Reply> replies;
    std::optional<Breakdown> breakdown;  ///< nothing follows it
  };
  using Listener = std::function<void(const News&)>;

  /// Starts to connect. Fails when the system refuses at once (no route, no such socket), with its
  /// words. SIGPIPE must be blocked or ignored.
  static Result<std::unique_ptr<Connection>> open(os::EventLoop& loop, const Address& address,
                                                  Listener listener);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Queues one command; only after `connected`. After a breakdown, reported or not yet, it goes
  /// nowhere.
  void command(const std::vector<std::string>& arguments);
  int fd() const { return fd_; }
  /// Sends what is queued as far as the kernel takes it; the loop sends the rest.
  void flush();

 private:
  Connection(os::EventLoop& loop, UniqueFd fd, Listener listener);

  /// The functions that hiredis calls; they know the private members.
  struct Hooks;

  void on_ready(os::Readiness readiness);
  bool finish_connecting();
  void expect_one_more();
  void note_breakdown();
  void set_interest(os::Readiness interest);

  os::EventLoop& loop_;
  Listener listener_;
  int fd_ = -1;
  /// The socket while it connects; then hiredis owns it.
  UniqueFd connecting_;
  redisAsyncContext* context_ = nullptr;
  /// Commands whose replies are due. hiredis is told of one more, see expect_one_more().
  std::size_t unanswered_ = 0;
  os::Readiness interest_;
  /// A breakdown was noted: the loop knows the descriptor no more.
  bool over_ = false;
  /// What hiredis' callbacks noted down in this turn.
  News news_;
};

}  // namespace redlock::redis
