// The one table from what a server replies to what that means for the lock. Pure: no connection, no
// hiredis. Whatever text it passes on is one printable line of bounded length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/node_io.h"

namespace redlock::redis {

/// A reply of the Redis protocol as a plain value.
struct Reply {
  enum class Kind { nil, status, error, integer, text, array, other };

  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  /// status, error, text: the bytes.
  std::string text;
  std::vector<Reply> elements;
};

/// What a reply asks the connection to do besides reporting the outcome.
enum class FollowUp {
  none,
  /// Report, then drop the connection: the next one looks for the server afresh.
  reconnect,
  /// Ask ROLE first: only a master may say that our lock is not there (confirm_absence()).
  confirm_absence,
  /// Ask ROLE first: a server without EVAL may be a Sentinel (explain_no_eval()).
  explain_no_eval,
};

struct Verdict {
  core::Outcome outcome;
  FollowUp follow_up = FollowUp::none;
};

/// Judges the reply to the script of `kind` (redis/scripts.h).
Verdict judge(core::RequestKind kind, const Reply& reply);

/// Judges the reply to AUTH or SELECT: nullopt when it worked, else what all requests that wait for
/// this connection end with. Passes on nothing that was sent.
std::optional<core::Outcome> judge_auth(const Reply& reply);
std::optional<core::Outcome> judge_select(const Reply& reply);

/// `claim` is foreign or gone and stands if `role`, the reply to ROLE, does not contradict it.
/// Where ROLE is forbidden or unknown the claim stands.
Verdict confirm_absence(const Verdict& claim, const Reply& role);
/// `claim` is the refusal of EVAL; becomes `misconfigured` if `role` tells of a Sentinel.
Verdict explain_no_eval(const Verdict& claim, const Reply& role);

/// The connection broke with nothing to judge.
core::Outcome unknown(std::string_view reason);
/// The peer does not speak the Redis protocol; `detail` are the protocol reader's words.
core::Outcome not_redis(std::string_view detail);

}  // namespace redlock::redis
