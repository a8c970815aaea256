// A network between clients and one server that a test can make slow, deaf or dead: a TCP proxy on
// a port of 127.0.0.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "support/wait.h"

namespace redlock::test {

/// Runs in a thread of its own until destroyed. Each switch counts for all connections, those that
/// stand included, from the moment it returns; what is under way by then arrives. A client that
/// goes away does not take back what it has sent.
class Proxy {
 public:
  explicit Proxy(std::uint16_t target);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  std::uint16_t port() const { return port_; }
  /// HOST:PORT, as redlock-run names it.
  std::string name() const;
  std::string url() const;

  /// Passes everything on at once; so does a new proxy. Connections of which bytes were swallowed
  /// or dropped are cut: their streams have holes.
  void pass();
  /// Passes everything on this much later, in both directions.
  void delay(milliseconds span);
  /// Accepts connections and reads nothing, as a network that is cut: all that was sent meanwhile
  /// arrives when it comes back.
  void freeze();
  /// Accepts connections, reads everything and passes on nothing.
  void swallow();
  /// Passes on requests, but no replies.
  void drop_replies();
  /// Resets connections, those that stand and those to come.
  void refuse();

 private:
  enum class Mode { pass, delay, freeze, swallow, drop_replies, refuse };
  struct Flow;
  struct Link;
  struct Orders {
    Mode mode = Mode::pass;
    milliseconds delay{0};
    std::uint64_t serial = 0;
  };

  void order(Mode mode, milliseconds delay = milliseconds(0));
  void serve();
  void obey(const Orders& orders);
  void accept_client();
  void turn();
  void move(Flow& flow, bool readable, bool is_reply);
  bool reads(const Flow& flow) const;
  int timeout() const;

  const std::uint16_t target_;
  UniqueFd listener_;
  UniqueFd wake_;
  std::uint16_t port_ = 0;

  mutable std::mutex mutex_;
  Orders wanted_;
  std::uint64_t obeyed_ = 0;
  bool stop_ = false;

  // The thread's own.
  Orders now_;
  std::vector<std::unique_ptr<Link>> links_;
  std::thread thread_;
};

}  // namespace redlock::test
