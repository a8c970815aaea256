// What the lock asks of a server and what a server can answer, as plain data. This is the whole
// border between the lock and Redis: floors above and beside fill it in, the core only reads it.
#pragma once

#include <cstdint>
#include <string>

#include "base/strong.h"
#include "base/time.h"

namespace redlock::core {

/// Counts the requests of one run; an answer names the request it belongs to.
using RequestId = Strong<struct RequestIdTag, std::uint64_t>;
/// Counts the attempts of one run from 1. Together with the run-id it makes the token, so that a
/// late release of one attempt cannot touch the key of a later one.
using Attempt = Strong<struct AttemptTag, std::uint32_t>;

enum class RequestKind {
  acquire,  ///< set the key if it is free, or carries an earlier attempt of this very run
  heal,     ///< the same, under a lease that is held: also on a server that may not vote yet
  renew,    ///< give the key a full ttl again and raise the fencing counter, if it is ours
  release,  ///< delete the key if it is ours
};

/// One question to one server.
struct Request {
  RequestId id;
  RequestKind kind = RequestKind::acquire;
  Attempt attempt;
  /// heal, renew: the counter on the server is raised to at least this.
  FencingToken fence;
};

/// What the server said. `failed` and `unknown` leave open what it has stored: a request that was
/// sent may have been executed, and a proxy's error says little about the server behind it.
enum class Answer {
  granted,        ///< acquire, heal: the key is ours; renew: it has a full ttl; release: deleted
  held,           ///< acquire, heal: somebody else has it
  foreign,        ///< renew, release: it carries another token; said by a master
  gone,           ///< renew, release: there is no such key; said by a master
  young,          ///< acquire: started too recently to vote; nothing was stored
  failed,         ///< the server answered that it cannot do this now; worth another try
  refused,        ///< credentials or rights are missing; another try gives the same
  misconfigured,  ///< not a server that can hold a lock (no such database, not Redis)
  misplaced,      ///< for certain none that belongs into the list of servers: a Sentinel
  unknown,        ///< no answer: connection refused or broken, name not resolved, given up
};

/// One server's answer to one request.
struct Outcome {
  Answer answer = Answer::unknown;
  /// acquire, heal, granted: the server's fencing counter after it. renew, granted:
  /// `raised` says whether the counter has reached the number asked for.
  FencingToken fence;
  bool raised = false;
  /// held: time until the key expires; infinite when it has no ttl.
  Duration remaining;
  /// held, foreign: the holder's token text. Empty when the key is not a plain string.
  std::string holder;
  /// held: the same for all keys of one holder, whichever attempts they are of.
  std::string holder_id;
  /// acquire, granted or held: tells this server from every other; empty when it did not say.
  std::string server;
  /// acquire: the server was asked how long it has been up, and may not say.
  bool uptime_hidden = false;
  /// young, failed, refused, misconfigured, unknown: the server's or system's words, without any
  /// secret.
  std::string reason;
};

}  // namespace redlock::core
