#include "redis/reply.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "base/assert.h"
#include "redis/lock_text.h"
#include "redis/printable.h"

namespace redlock::redis {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestKind;

Outcome with_reason(Answer answer, std::string reason) {
  Outcome outcome;
  outcome.answer = answer;
  outcome.reason = std::move(reason);
  return outcome;
}

// --- error replies -------------------------------------------------------------------------------

enum class Where {
  start,   ///< the first word of the error, or of what a script's error wraps
  phrase,  ///< anywhere: words without a code, whose surroundings differ between versions
};

struct ErrorRow {
  std::string_view text;
  Where where;
  Answer answer;
  FollowUp follow_up;
  std::string_view remedy;  ///< put behind the server's words
};

constexpr std::string_view kClusterRemedy =
    "a node of a Redis Cluster, which this version cannot use; give a server outside of it";
constexpr std::string_view kReplicaRemedy =
    "unless a failover is under way, give the address of its master";
constexpr std::string_view kEvalRemedy =
    "the lock needs EVAL; take it out of rename-command, or allow it by ACL: +eval";

/// First match wins. What matches nothing is `failed`: the server's words are shown, and another
/// try does no harm.
constexpr std::array kErrors = {
    ErrorRow{"LOADING", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"BUSY", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"MASTERDOWN", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"CLUSTERDOWN", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"TRYAGAIN", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"NOREPLICAS", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"MISCONF", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"OOM", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"NOSCRIPT", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"READONLY", Where::start, Answer::failed, FollowUp::reconnect, kReplicaRemedy},
    ErrorRow{"REDIRECT", Where::start, Answer::failed, FollowUp::reconnect, ""},
    ErrorRow{"MOVED", Where::start, Answer::misconfigured, FollowUp::none, kClusterRemedy},
    ErrorRow{"ASK", Where::start, Answer::misconfigured, FollowUp::none, kClusterRemedy},
    ErrorRow{"CROSSSLOT", Where::start, Answer::misconfigured, FollowUp::none, kClusterRemedy},
    ErrorRow{"NOAUTH", Where::start, Answer::refused, FollowUp::none, ""},
    ErrorRow{"WRONGPASS", Where::start, Answer::refused, FollowUp::none, ""},
    ErrorRow{"NOPERM", Where::start, Answer::refused, FollowUp::none, ""},
    ErrorRow{"DENIED", Where::start, Answer::refused, FollowUp::none, ""},
    ErrorRow{"ERR max number of clients", Where::start, Answer::failed, FollowUp::none, ""},
    ErrorRow{"ERR invalid password", Where::start, Answer::refused, FollowUp::none, ""},
    ErrorRow{"ERR operation not permitted", Where::start, Answer::refused, FollowUp::none, ""},
    ErrorRow{"ERR unknown command", Where::start, Answer::refused, FollowUp::explain_no_eval,
             kEvalRemedy},
    ErrorRow{"The user executing the script can't", Where::phrase, Answer::refused, FollowUp::none,
             ""},
    ErrorRow{"can't run this command", Where::phrase, Answer::refused, FollowUp::none, ""},
    ErrorRow{"ACL failure in script", Where::phrase, Answer::refused, FollowUp::none, ""},
    ErrorRow{"Unknown Redis command called from", Where::phrase, Answer::refused, FollowUp::none,
             ""},
};

bool is_word_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether `text` stands in `error` at `position` and is not the beginning of a longer word.
bool stands_at(std::string_view error, std::size_t position, std::string_view text) {
  if (error.substr(position, text.size()) != text) return false;
  const std::size_t end = position + text.size();
  return end == error.size() || !is_word_character(error[end]);
}

/// Redis up to 6.2 wraps what a command in a script said: "@user_script: 7: -OOM command not
/// allowed" or "ERR Error running script (call to ...): @user_script:7: ...". Only there is a code
/// word looked for everywhere: other errors quote what the client sent.
bool wraps_another(std::string_view error) {
  return error.starts_with("@user_script") || error.starts_with("ERR @user_script") ||
         error.starts_with("ERR Error running script") || error.starts_with("Error running script");
}

bool matches(const ErrorRow& row, std::string_view error) {
  if (row.where == Where::phrase) {
    // An unknown command is quoted together with its arguments.
    return !error.starts_with("ERR unknown command") && error.find(row.text) != std::string::npos;
  }
  if (stands_at(error, 0, row.text)) return true;
  if (!wraps_another(error)) return false;
  for (std::size_t i = error.find(row.text); i != std::string_view::npos;
       i = error.find(row.text, i + 1)) {
    if (!is_word_character(error[i - 1]) && stands_at(error, i, row.text)) return true;
  }
  return false;
}

/// The server's words without what a script puts around them and without the arguments that an
/// "unknown command" quotes (token or password may be among them).
std::string server_words(std::string_view error) {
  constexpr std::string_view kScript = "@user_script";
  const std::size_t script = error.rfind(kScript);
  if (wraps_another(error) && script != std::string_view::npos) {
    error.remove_prefix(script + kScript.size());
    error.remove_prefix(std::min(error.find_first_not_of(": 0123456789-"), error.size()));
  }
  // Redis 8: "ERR ACL failure in script: No permissions to run the 'get' command script: ...".
  constexpr std::string_view kAclFailure = "ACL failure in script: ";
  const std::size_t acl = error.find(kAclFailure);
  if (acl != std::string_view::npos) error.remove_prefix(acl + kAclFailure.size());
  for (const std::string_view tail : {", with args", " script: "}) {
    error = error.substr(0, error.find(tail));
  }
  return printable(error);
}

Verdict judge_error(std::string_view error) {
  std::string words = server_words(error);
  for (const ErrorRow& row : kErrors) {
    if (!matches(row, error)) continue;
    if (!row.remedy.empty()) words += " (" + std::string(row.remedy) + ")";
    return {with_reason(row.answer, std::move(words)), row.follow_up};
  }
  return {with_reason(Answer::failed, std::move(words)), FollowUp::none};
}

// --- replies of our scripts ----------------------------------------------------------------------

Verdict unexpected() {
  return {with_reason(Answer::misconfigured,
                      "it answers in a way that no Redis server does; check host and port"),
          FollowUp::none};
}

/// PTTL of a key that exists: -1 without a ttl.
Duration remaining_from(const Reply& pttl) {
  if (pttl.integer == -1) return Duration::infinite();
  return Duration::milliseconds(pttl.integer < 0 ? 0 : pttl.integer);
}

constexpr auto kInteger = Reply::Kind::integer;
constexpr auto kText = Reply::Kind::text;
constexpr std::size_t kHolderLimit = 512;

bool has_form(const Reply& reply, std::initializer_list<Reply::Kind> form) {
  if (reply.kind != Reply::Kind::array || reply.elements.size() != form.size()) return false;
  std::size_t i = 0;
  for (const Reply::Kind kind : form) {
    if (reply.elements[i++].kind != kind) return false;
  }
  return true;
}

Verdict held_by(Answer answer, FollowUp follow_up, const Reply& reply) {
  Outcome outcome;
  outcome.answer = answer;
  outcome.remaining = remaining_from(reply.elements[1]);
  outcome.holder = reply.elements[2].text.substr(0, kHolderLimit);
  // All attempts of one run begin with its RUNID and a dot; other programs use one value for all
  // servers.
  const bool ours = parse_holder(outcome.holder).has_value();
  outcome.holder_id = ours ? outcome.holder.substr(0, outcome.holder.find('.')) : outcome.holder;
  return {std::move(outcome), follow_up};
}

/// What the acquire script says of the server itself.
void note_server(const std::string& said, Outcome& outcome) {
  outcome.uptime_hidden = said == "-";
  if (!outcome.uptime_hidden) outcome.server = said;
}

Verdict absent(Answer answer) {
  Outcome outcome;
  outcome.answer = answer;
  return {std::move(outcome), FollowUp::confirm_absence};
}

Verdict judge_acquire(std::int64_t code, const Reply& reply) {
  if (code == 1 && has_form(reply, {kInteger, kText, kText})) {
    const std::string& digits = reply.elements[1].text;
    std::uint64_t fence = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), fence);
    if (failure != std::errc() || end != digits.data() + digits.size()) return unexpected();
    Outcome outcome;
    outcome.answer = Answer::granted;
    outcome.fence = FencingToken(fence);
    note_server(reply.elements[2].text, outcome);
    return {std::move(outcome), FollowUp::none};
  }
  if (code == 0 && has_form(reply, {kInteger, kInteger, kText, kText})) {
    Verdict verdict = held_by(Answer::held, FollowUp::none, reply);
    note_server(reply.elements[3].text, verdict.outcome);
    return verdict;
  }
  if (code == -1 && has_form(reply, {kInteger, kInteger})) {
    Outcome outcome;
    outcome.answer = Answer::held;
    outcome.remaining = remaining_from(reply.elements[1]);
    return {std::move(outcome), FollowUp::none};
  }
  if (code == -3 && has_form(reply, {kInteger})) {
    return {with_reason(Answer::failed, "a newer attempt of this run has the key"), FollowUp::none};
  }
  if (code == -4 && has_form(reply, {kInteger})) {
    return {
        with_reason(Answer::misconfigured,
                    "the key of the fencing counter (the lock's key in braces and :fence) holds "
                    "something else; delete or rename it"),
        FollowUp::none};
  }
  if (code == -5 && has_form(reply, {kInteger, kInteger})) {
    return {with_reason(Answer::young, "it started " + std::to_string(reply.elements[1].integer) +
                                           "s ago, too recently to vote (--min-uptime)"),
            FollowUp::none};
  }
  return unexpected();
}

Verdict judge_renew(std::int64_t code, const Reply& reply) {
  if (code == 1 && has_form(reply, {kInteger, kInteger})) {
    Outcome outcome;
    outcome.answer = Answer::granted;
    outcome.raised = reply.elements[1].integer == 1;
    return {std::move(outcome), FollowUp::none};
  }
  if (code == 0 && has_form(reply, {kInteger, kInteger, kText})) {
    return held_by(Answer::foreign, FollowUp::confirm_absence, reply);
  }
  if (code == -1 && has_form(reply, {kInteger})) return absent(Answer::foreign);
  if (code == -2 && has_form(reply, {kInteger})) return absent(Answer::gone);
  return unexpected();
}

Verdict judge_release(std::int64_t code, const Reply& reply) {
  if (!has_form(reply, {kInteger})) return unexpected();
  if (code == 1) {
    Outcome outcome;
    outcome.answer = Answer::granted;
    return {std::move(outcome), FollowUp::none};
  }
  if (code == 0) return absent(Answer::foreign);
  if (code == -2) return absent(Answer::gone);
  return unexpected();
}

/// What ROLE calls the server; empty when it did not say.
std::string_view role_name(const Reply& role) {
  if (role.kind != Reply::Kind::array || role.elements.empty()) return {};
  return role.elements.front().text;
}

}  // namespace

Verdict judge(RequestKind kind, const Reply& reply) {
  if (reply.kind == Reply::Kind::error) return judge_error(reply.text);
  if (reply.kind != Reply::Kind::array || reply.elements.empty() ||
      reply.elements.front().kind != kInteger) {
    return unexpected();
  }
  const std::int64_t code = reply.elements.front().integer;
  switch (kind) {
    case RequestKind::acquire:
    case RequestKind::heal:
      return judge_acquire(code, reply);
    case RequestKind::renew:
      return judge_renew(code, reply);
    case RequestKind::release:
      return judge_release(code, reply);
  }
  RR_ASSERT(false);
}

std::optional<Outcome> judge_auth(const Reply& reply) {
  if (reply.kind == Reply::Kind::status) return std::nullopt;
  if (reply.kind != Reply::Kind::error) return unexpected().outcome;
  // Here "unknown command" is about AUTH, and an error without a code about the credentials.
  Outcome outcome = judge_error(reply.text).outcome;
  const bool names_a_state = outcome.answer == Answer::failed && !reply.text.starts_with("ERR ");
  const bool full = reply.text.starts_with("ERR max number of clients");
  if (names_a_state || full) return outcome;
  return with_reason(Answer::refused, server_words(reply.text));
}

std::optional<Outcome> judge_select(const Reply& reply) {
  if (reply.kind == Reply::Kind::status) return std::nullopt;
  if (reply.kind != Reply::Kind::error) return unexpected().outcome;
  const bool has_code = !reply.text.starts_with("ERR ");
  const bool full = reply.text.starts_with("ERR max number of clients");
  if (has_code || full) return judge_error(reply.text).outcome;
  const bool has_none = reply.text.starts_with("ERR unknown command");
  return with_reason(
      Answer::misconfigured,
      server_words(reply.text) + (has_none ? " (it has no databases; is it a Sentinel?)"
                                           : " (the database number of the URL)"));
}

Verdict confirm_absence(const Verdict& claim, const Reply& role) {
  const std::string_view name = role_name(role);
  if (name == "slave" || name == "replica") {
    return {with_reason(Answer::failed, "it is a replica (" + std::string(kReplicaRemedy) + ")"),
            FollowUp::reconnect};
  }
  if (name == "sentinel") {
    return {with_reason(Answer::failed, "it is a Sentinel by now"), FollowUp::reconnect};
  }
  return {claim.outcome, FollowUp::none};
}

Verdict explain_no_eval(const Verdict& claim, const Reply& role) {
  if (role_name(role) != "sentinel") return {claim.outcome, FollowUp::none};
  return {with_reason(Answer::misplaced,
                      "it is a Sentinel, which holds no data; give host and port of the Redis "
                      "server itself"),
          FollowUp::none};
}

Outcome unknown(std::string_view reason) {
  return with_reason(Answer::unknown, printable(reason));
}

Outcome not_redis(std::string_view detail) {
  // What OpenSSL sends to a client that does not speak TLS begins with the record type 21.
  if (detail.find("\\x15") != std::string_view::npos) {
    return with_reason(Answer::misconfigured,
                       "it speaks TLS, which redis:// does not; give its port without TLS");
  }
  return with_reason(Answer::misconfigured, "it does not speak the Redis protocol (" +
                                                printable(detail, 100) + "); check host and port");
}

}  // namespace redlock::redis
