// A scripted server on a loopback port, for replies that a real redis-server gives rarely or never.
// Reads commands of the Redis protocol and says what its script says; stores nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace redlock::test {

/// What the fake does about one command.
struct Reaction {
  std::string bytes;   ///< sent as they are; may be none
  bool close = false;  ///< then closes the connection
};

/// Runs in a thread of its own until destroyed.
class FakeRedis {
 public:
  using Command = std::vector<std::string>;
  /// Called in the server's thread, for one command at a time.
  using Script = std::function<Reaction(const Command&)>;

  explicit FakeRedis(Script script);
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;
  ~FakeRedis();

  std::uint16_t port() const { return port_; }
  /// redis://USERINFO@127.0.0.1:PORT PATH
  std::string url(const std::string& userinfo = "", const std::string& path = "") const;
  /// Everything received so far, over all connections.
  std::vector<Command> commands() const;
  /// How many connections were accepted so far.
  std::size_t connections() const;

 private:
  struct Client;

  void serve();
  void accept_client(std::vector<Client>& clients);
  bool serve_client(Client& client);

  Script script_;
  int listener_ = -1;
  int stop_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Command> commands_;
  std::size_t connections_ = 0;
  std::thread thread_;
};

/// Replies in the bytes of the protocol.
namespace resp {
std::string ok();
std::string error(const std::string& text);
std::string integer(std::int64_t value);
std::string bulk(const std::string& text);
std::string nil();
std::string array(const std::vector<std::string>& elements);
}  // namespace resp

}  // namespace redlock::test
