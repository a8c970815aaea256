// What a server does with one request: the semantics of the scripts (src/redis/scripts.h).
#pragma once

#include "model/rules.h"
#include "model/state.h"

namespace redlock::model {

/// Who asks.
struct Asker {
  std::uint8_t client = 0;
  std::uint8_t run = 0;
  std::uint8_t floor = 0;
  bool private_server = false;  ///< Mutant::private_server, and this is the one
};

/// Executes the request in `message` and makes it the reply.
void serve(Server& server, const Asker& asker, Message& message, const Rules& rules);

}  // namespace redlock::model
