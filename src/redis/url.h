// Reads the URLs that name one Redis server. Refuses what it does not fully understand, in words
// that show a right example and nothing of what could be a password.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace redlock::redis {

/// Where one server is and as whom to speak to it. Either `host` or `socket_path` is set.
struct Url {
  /// A name, an IPv4 or an IPv6 address (without brackets).
  std::string host;
  std::uint16_t port = 6379;
  std::string socket_path;
  /// Empty: the server's default user.
  std::string user;
  std::optional<std::string> password;
  std::uint32_t db = 0;

  /// host:port, [v6]:port or unix:/path, for messages; carries no credentials.
  std::string display() const;
  bool has_credentials() const { return !user.empty() || password.has_value(); }
};

/// Whether both are the same server, as far as the text alone tells; the database does not matter.
bool certainly_same(const Url& a, const Url& b);

/// Accepts redis://[user[:password]@]host[:port][/db] and unix://[user[:password]@]/path[?db=N];
/// %XX is decoded everywhere, '+' is itself. The error is a usage error and names no part of the
/// URL but its scheme.
Result<Url> parse_url(std::string_view text);

}  // namespace redlock::redis
