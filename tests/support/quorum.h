// Several servers that know nothing of each other, as one list for redlock-run.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/launch.h"
#include "support/redis_server.h"

namespace redlock::test {

/// N fresh servers. By default they vote from their first second on (--min-uptime 0).
class Quorum {
 public:
  explicit Quorum(std::size_t size) : Quorum(size, [](std::size_t) { return Options(); }) {}

  using Options = RedisServer::Options;
  /// With the options that `options_of` names for each index.
  Quorum(std::size_t size, const std::function<Options(std::size_t)>& options_of);

  std::size_t size() const { return servers_.size(); }
  /// How many have to grant.
  std::size_t majority() const { return size() / 2 + 1; }
  /// How many may fail.
  std::size_t minority() const { return size() - majority(); }
  RedisServer& operator[](std::size_t index) { return *servers_[index]; }

  /// Sends clients of this server elsewhere, such as to a proxy before it.
  void set_url(std::size_t index, const std::string& url) { urls_[index] = url; }
  /// Leaves --min-uptime at its default.
  void young_servers_do_not_vote() { min_uptime_ = false; }

  /// -r for each server, and --min-uptime.
  std::vector<std::string> arguments() const;

  /// What each server has under `key`.
  std::vector<std::optional<std::string>> values(const std::string& key);
  /// On how many servers `key` has `value`, any value if that is empty.
  std::size_t count(const std::string& key, const std::string& value = "");
  /// The value that a majority has under `key`; empty when there is none.
  std::string agreed(const std::string& key);
  /// True when nothing but fencing counters is left on any server.
  bool only_fences_left();

  /// `what` for the servers from..to-1.
  void each(std::size_t from, std::size_t to, const std::function<void(RedisServer&)>& what);

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::string> urls_;
  bool min_uptime_ = true;
};

/// redlock-run for these servers, with more arguments.
Launch lock(const Quorum& quorum, const std::vector<std::string>& args);
/// lock() with `options`, the name "job", and the probe with `actions` as COMMAND.
Launch probe_job(const Quorum& quorum, const std::vector<std::string>& options,
                 const std::vector<std::string>& actions);

}  // namespace redlock::test
