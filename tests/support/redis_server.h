// A real redis-server of one test: own port on 127.0.0.1, own directory, nothing kept on disk
// unless asked for. Dies with its RedisServer, and with the runner, however that ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/temp_dir.h"
#include "support/wait.h"

struct redisContext;

namespace redlock::test {

/// A reply with its type folded to what tests compare: text for strings, status and errors.
struct Reply {
  enum class Kind { nil, text, integer, array, error, none };
  Kind kind = Kind::none;  ///< none: the server did not answer
  std::string text;
  long long integer = 0;
  std::vector<Reply> elements;
};

/// A port of 127.0.0.1 that nobody listens on and nobody else gets while this lives.
class ReservedPort {
 public:
  ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;
  ~ReservedPort();

  std::uint16_t number() const { return number_; }
  /// Gives the port up for somebody who is to listen on it.
  void release();

 private:
  int fd_ = -1;
  std::uint16_t number_ = 0;
};

/// Ready to answer when the constructor returns; a server that does not start fails the test.
class RedisServer {
 public:
  struct Options {
    /// More arguments of redis-server, such as {"--maxmemory", "10mb"}.
    std::vector<std::string> arguments{};
    /// Sets requirepass, and is what the own commands of the test log in with.
    std::string password{};
    /// A free one by default.
    std::uint16_t port = 0;
    /// Where it listens; clients are sent to the first.
    std::vector<std::string> addresses{"127.0.0.1"};
    /// Words before its command line, such as nsenter's.
    std::vector<std::string> under{};
    /// Writes down every change before it answers, so that restart() finds all of it again.
    bool keeps_data = false;
  };

  RedisServer() : RedisServer(Options()) {}
  explicit RedisServer(Options options);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }
  /// HOST:PORT, as redlock-run names it.
  std::string name() const;
  /// redis://HOST:PORT, without the password.
  std::string url() const;
  /// unix:///PATH of the same server, which reaches it from every network namespace.
  std::string socket_url() const;
  /// The same with `userinfo` ("user:password") and `path` ("/3").
  std::string url(const std::string& userinfo, const std::string& path = "") const;

  /// SIGSTOP: the kernel still accepts connections, nothing answers.
  void pause();
  void resume();
  void kill9();
  /// SIGTERM, waits for the end.
  void stop();
  /// Starts again on the same port, with the data if it keeps any, else empty. The server must have
  /// been stopped or killed.
  void restart();
  /// The same, empty in any case.
  void restart_empty();
  /// Leaves the commands of all clients unanswered for so long, the test's own included.
  void pause_clients(milliseconds span);
  /// Cuts all connections but the test's own.
  void cut_clients();

  /// One command on the test's own connection; reconnects when that is broken.
  Reply command(const std::vector<std::string>& words);

  std::optional<std::string> get(const std::string& key);
  void set(const std::string& key, const std::string& value);
  void set_px(const std::string& key, const std::string& value, long long ms);
  void del(const std::string& key);
  bool exists(const std::string& key);
  /// Milliseconds; -1 without expiry, -2 without key.
  long long pttl(const std::string& key);
  /// All keys, sorted.
  std::vector<std::string> keys();
  /// How often clients have called `command` since the last reset_counters().
  long long calls(const std::string& command);
  /// Calls of EVAL, EVALSHA and FCALL together: the requests of lock clients.
  long long script_calls();
  void reset_counters();
  /// The line `field` of INFO `section`.
  std::string info(const std::string& section, const std::string& field);
  /// Clients connected now, the test's own connection not counted.
  long long other_clients();

 private:
  bool launch();
  void require_start();
  void end_process(int signal);
  bool connect();
  std::vector<std::string> command_line() const;

  struct ContextDeleter {
    void operator()(redisContext* context) const;
  };

  Options options_;
  TempDir directory_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
  std::unique_ptr<redisContext, ContextDeleter> connection_;
};

}  // namespace redlock::test
