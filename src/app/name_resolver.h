// Host names to addresses through the C library, which blocks for as long as it likes: so a short-
// lived child asks it, and a slow or dead name server costs nobody but that child.
#pragma once

#include <memory>
#include <string>

#include "os/event_loop.h"
#include "redis/resolver.h"

namespace redlock::app {

class NameResolver : public redis::Resolver {
 public:
  /// `loop` must outlive it and its queries.
  explicit NameResolver(os::EventLoop& loop) : loop_(loop) {}

  /// Forks. A query that is destroyed kills and reaps its child.
  std::unique_ptr<Query> resolve(const std::string& host, std::uint16_t port, Done done) override;

 private:
  os::EventLoop& loop_;
};

}  // namespace redlock::app
