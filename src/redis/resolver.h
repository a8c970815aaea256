// The border to name resolution, which blocks and is therefore done by somebody else.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace redlock::redis {

/// One address to connect to, with the port already in it.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

/// Turns host names into addresses without ever blocking the caller.
class Resolver {
 public:
  using Done = std::function<void(Result<std::vector<Address>>)>;
  /// Stops waiting for the answer when destroyed: `Done` is not called after that.
  class Query {
   public:
    Query() = default;
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;
    virtual ~Query() = default;
  };

  Resolver() = default;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  virtual ~Resolver() = default;

  /// Starts to resolve `host` (a name, not a numeric address). `done` is called from the event
  /// loop, never from here, with at least one address or with an error that names the host.
  virtual std::unique_ptr<Query> resolve(const std::string& host, std::uint16_t port,
                                         Done done) = 0;
};

}  // namespace redlock::redis
