// The reply table, row by row, for each kind of request: bytes of a scripted server on the wire,
// outcome at the other end.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "redis/reply.h"
#include "support/fake_redis.h"
#include "support/node_driver.h"

TEST_SUITE_BEGIN("redis.reply");

namespace redlock::test {
namespace {

using core::Answer;
using core::Outcome;
using core::RequestKind;

constexpr RequestKind kKinds[] = {RequestKind::acquire, RequestKind::heal, RequestKind::renew,
                                  RequestKind::release};

/// One request to a server that replies `bytes` to EVAL and `role` to ROLE.
struct Exchange {
  Outcome outcome;
  std::size_t commands = 0;
  bool connection_kept = false;
};

Exchange converse(RequestKind kind, const std::string& bytes,
                  const std::string& role = resp::array({resp::bulk("master")})) {
  FakeRedis server([&](const FakeRedis::Command& command) {
    return Reaction{command.front() == "ROLE" ? role : bytes};
  });
  NodeDriver driver(server.url());
  Exchange result;
  result.outcome = driver.outcome(driver.send(kind));
  result.commands = server.commands().size();
  driver.outcome(driver.send(kind));
  result.connection_kept = server.connections() == 1;
  return result;
}

struct ErrorRow {
  std::string text;
  Answer answer;
  bool kept = true;    ///< the connection is used for the next request
  std::string says{};  ///< part of the reason; else the text itself
};

const std::vector<ErrorRow> kErrors = {
    {"LOADING Redis is loading the dataset in memory", Answer::failed},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL.", Answer::failed},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     Answer::failed},
    {"CLUSTERDOWN The cluster is down", Answer::failed},
    {"TRYAGAIN Multiple keys request during rehashing of slot", Answer::failed},
    {"NOREPLICAS Not enough good replicas to write.", Answer::failed},
    {"MISCONF Redis is configured to save RDB snapshots", Answer::failed},
    {"OOM command not allowed when used memory > 'maxmemory'.", Answer::failed},
    {"NOSCRIPT No matching script. Please use EVAL.", Answer::failed},
    {"ERR max number of clients reached", Answer::failed},
    {"ERR something new", Answer::failed},
    {"READONLY You can't write against a read only replica.", Answer::failed, false,
     "replica. (unless a failover is under way, give the address of its master)"},
    {"REDIRECT 10.0.0.2:6379", Answer::failed, false},
    {"MOVED 3999 127.0.0.1:6381", Answer::misconfigured, true, "Redis Cluster"},
    {"ASK 3999 127.0.0.1:6381", Answer::misconfigured, true, "Redis Cluster"},
    {"CROSSSLOT Keys in request don't hash to the same slot", Answer::misconfigured, true,
     "Redis Cluster"},
    {"NOAUTH Authentication required.", Answer::refused},
    {"WRONGPASS invalid username-password pair or user is disabled.", Answer::refused},
    {"NOPERM this user has no permissions to run the 'eval' command", Answer::refused},
    {"DENIED Redis is running in protected mode", Answer::refused},
    {"ERR operation not permitted", Answer::refused},
    // Inside a script, by version: up to 6.2 a call's position stands before it, from 7.0 on the
    // script's name behind.
    {"@user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.", Answer::failed,
     true, "OOM command not allowed"},
    {"ERR Error running script (call to f_0123): @user_script:9: @user_script: 9: -MISCONF Redis "
     "is "
     "configured",
     Answer::failed, true, "MISCONF Redis is configured"},
    {"ERR Error running script (call to f_0123): @user_script:9: @user_script: 9: -READONLY You "
     "can't write against a read only replica.",
     Answer::failed, false, "READONLY You can't"},
    {"READONLY You can't write against a read only replica. script: 0123, on @user_script:9.",
     Answer::failed, false, "replica."},
    {"ERR Error running script (call to f_0123): @user_script:9: @user_script: 9: The user "
     "executing "
     "the script can't run this command or subcommand",
     Answer::refused, true, "The user executing"},
    {"ERR The user executing the script can't access at least one of the keys mentioned in the "
     "command arguments script: 0123, on @user_script:9.",
     Answer::refused, true, "arguments"},
    {"ERR Unknown Redis command called from script script: 0123", Answer::refused, true,
     "called from"},
    // A code word counts where the server put it, not where it quotes something.
    {"ERR unknown thing 'READONLY' MOVED OOM", Answer::failed},
    {"ERR Error running script (call to f_0123): @user_script:9: the BUSYWORD is not BUSYNESS",
     Answer::failed, true, "the BUSYWORD is not"},
    {"OOMPH is no code word", Answer::failed},
};

TEST_CASE("error replies mean the same for every kind of request") {
  for (const ErrorRow& row : kErrors) {
    for (const RequestKind kind : kKinds) {
      CAPTURE(row.text);
      CAPTURE(static_cast<int>(kind));
      const Exchange result = converse(kind, resp::error(row.text));
      CHECK(result.outcome.answer == row.answer);
      CHECK(result.connection_kept == row.kept);
      const std::string says = row.says.empty() ? row.text : row.says;
      CHECK_MESSAGE(result.outcome.reason.find(says) != std::string::npos, result.outcome.reason);
      CHECK(result.outcome.reason.find("0123") == std::string::npos);
      CHECK(result.commands == 1);
    }
  }
}

TEST_CASE("a server without EVAL is asked what it is") {
  const std::string no_eval = resp::error(
      "ERR unknown command 'EVAL', with args beginning with: 'local WRONGTYPE OOM' '2' 'secret'");
  const std::string sentinel =
      resp::array({resp::bulk("sentinel"), resp::array({resp::bulk("mymaster")})});
  for (const RequestKind kind : kKinds) {
    const Exchange by_sentinel = converse(kind, no_eval, sentinel);
    CHECK(by_sentinel.outcome.answer == Answer::misplaced);
    CHECK(by_sentinel.outcome.reason.find("Sentinel") != std::string::npos);
    for (const std::string& role :
         {resp::array({resp::bulk("master")}), resp::error("ERR unknown command 'ROLE'"),
          resp::error("NOPERM this user has no permissions to run the 'role' command")}) {
      const Exchange by_other = converse(kind, no_eval, role);
      CHECK(by_other.outcome.answer == Answer::refused);
      CHECK(by_other.outcome.reason.find("+eval") != std::string::npos);
      CHECK(by_other.outcome.reason.find("secret") == std::string::npos);
      CHECK(by_other.commands == 2);
      CHECK(by_other.connection_kept);
    }
  }
}

TEST_CASE("granted") {
  const Outcome acquired =
      converse(RequestKind::acquire, "*3\r\n:1\r\n$13\r\n1700000000123\r\n$3\r\nabc\r\n").outcome;
  CHECK(acquired.answer == Answer::granted);
  CHECK(acquired.fence == FencingToken(1'700'000'000'123));
  CHECK(acquired.server == "abc");
  CHECK(!acquired.uptime_hidden);
  const Outcome secretive =
      converse(RequestKind::heal, "*3\r\n:1\r\n$1\r\n7\r\n$1\r\n-\r\n").outcome;
  CHECK(secretive.answer == Answer::granted);
  CHECK(secretive.server.empty());
  CHECK(secretive.uptime_hidden);
  const Outcome renewed = converse(RequestKind::renew, "*2\r\n:1\r\n:1\r\n").outcome;
  CHECK(renewed.answer == Answer::granted);
  CHECK(renewed.raised);
  const Outcome not_raised = converse(RequestKind::renew, "*2\r\n:1\r\n:0\r\n").outcome;
  CHECK(not_raised.answer == Answer::granted);
  CHECK(!not_raised.raised);
  CHECK(converse(RequestKind::release, "*1\r\n:1\r\n").outcome.answer == Answer::granted);
}

TEST_CASE("held") {
  const std::string holder = "somebody's token";
  const auto held = [&](std::int64_t pttl) {
    return converse(RequestKind::acquire, resp::array({resp::integer(0), resp::integer(pttl),
                                                       resp::bulk(holder), resp::bulk("abc")}))
        .outcome;
  };
  CHECK(held(1500).server == "abc");
  CHECK(held(1500).holder_id == holder);
  CHECK(held(1500).answer == Answer::held);
  CHECK(held(1500).holder == holder);
  CHECK(held(1500).remaining == Duration::milliseconds(1500));
  CHECK(held(0).remaining == Duration());
  CHECK(held(-1).remaining.is_infinite());
  CHECK(held(-2).remaining == Duration());

  const Outcome other_type = converse(RequestKind::acquire, "*2\r\n:-1\r\n:700\r\n").outcome;
  CHECK(other_type.answer == Answer::held);
  CHECK(other_type.holder.empty());
  CHECK(other_type.remaining == Duration::milliseconds(700));
  CHECK(converse(RequestKind::acquire, "*2\r\n:-1\r\n:-1\r\n").outcome.remaining.is_infinite());
}

TEST_CASE("all attempts of one run are one holder") {
  const auto holder_id = [](const std::string& token) {
    return converse(RequestKind::acquire, resp::array({resp::integer(0), resp::integer(5),
                                                       resp::bulk(token), resp::bulk("")}))
        .outcome.holder_id;
  };
  const std::string other_run(32, 'f');
  CHECK(holder_id(token_text(1)) == holder_id(token_text(2)));
  CHECK(holder_id(token_text(1)) != holder_id(token_text(1, other_run)));
  CHECK(holder_id("a.1") != holder_id("a.2"));
}

TEST_CASE("acquire: refusals of our own script") {
  const Outcome young = converse(RequestKind::acquire, "*2\r\n:-5\r\n:7\r\n").outcome;
  CHECK(young.answer == Answer::young);
  CHECK(young.reason.find("7s") != std::string::npos);
  CHECK(young.reason.find("--min-uptime") != std::string::npos);
  CHECK(converse(RequestKind::acquire, "*1\r\n:-3\r\n").outcome.answer == Answer::failed);
  const Outcome bad_counter = converse(RequestKind::acquire, "*1\r\n:-4\r\n").outcome;
  CHECK(bad_counter.answer == Answer::misconfigured);
  CHECK(bad_counter.reason.find(":fence") != std::string::npos);
}

struct Absence {
  RequestKind kind;
  std::string bytes;
  Answer answer;
};

const std::vector<Absence> kAbsences = {
    {RequestKind::renew, resp::array({resp::integer(0), resp::integer(5), resp::bulk("their")}),
     Answer::foreign},
    {RequestKind::renew, resp::array({resp::integer(-1)}), Answer::foreign},
    {RequestKind::renew, resp::array({resp::integer(-2)}), Answer::gone},
    {RequestKind::release, resp::array({resp::integer(0)}), Answer::foreign},
    {RequestKind::release, resp::array({resp::integer(-2)}), Answer::gone},
};

TEST_CASE("foreign and gone count when a master says so, or nobody contradicts") {
  for (const Absence& row : kAbsences) {
    for (const std::string& role :
         {resp::array({resp::bulk("master"), resp::integer(0), resp::array({})}),
          resp::error("NOPERM this user has no permissions to run the 'role' command"),
          resp::error("ERR unknown command 'ROLE'"), resp::nil(), resp::array({})}) {
      CAPTURE(role);
      const Exchange result = converse(row.kind, row.bytes, role);
      CHECK(result.outcome.answer == row.answer);
      CHECK(result.commands == 2);
      CHECK(result.connection_kept);
    }
  }
  CHECK(converse(RequestKind::renew, kAbsences[0].bytes).outcome.holder == "their");
}

TEST_CASE("a replica's or a Sentinel's foreign and gone do not count") {
  for (const Absence& row : kAbsences) {
    for (const char* role : {"slave", "replica", "sentinel"}) {
      CAPTURE(role);
      const Exchange result = converse(row.kind, row.bytes, resp::array({resp::bulk(role)}));
      CHECK(result.outcome.answer == Answer::failed);
      CHECK(!result.outcome.reason.empty());
      CHECK(!result.connection_kept);
    }
  }
}

TEST_CASE("well-formed nonsense is no Redis server") {
  for (const std::string& bytes :
       {resp::nil(), resp::ok(), resp::integer(1), resp::bulk("1"), resp::array({}),
        resp::array({resp::bulk("1")}), resp::array({resp::integer(7)}), std::string("*-1\r\n"),
        resp::array({resp::integer(1), resp::nil()}),
        resp::array({resp::integer(1), resp::bulk("1")}),
        resp::array({resp::integer(1), resp::bulk("-5"), resp::bulk("")}),
        resp::array({resp::integer(1), resp::bulk("1e5"), resp::bulk("")}),
        resp::array({resp::integer(1), resp::bulk(""), resp::bulk("")}),
        resp::array({resp::integer(1), resp::integer(1), resp::integer(1)}),
        resp::array({resp::integer(0), resp::bulk("x"), resp::integer(1)}),
        resp::array({resp::integer(0), resp::integer(5)})}) {
    for (const RequestKind kind : kKinds) {
      CAPTURE(bytes);
      const Exchange result = converse(kind, bytes);
      CHECK(result.outcome.answer == Answer::misconfigured);
      CHECK(result.outcome.reason.find("check host and port") != std::string::npos);
    }
  }
}

TEST_CASE("what is not the Redis protocol") {
  using namespace std::string_literals;
  struct Row {
    std::string bytes;
    std::string says;
  };
  for (const Row& row :
       {Row{"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak the Redis protocol"},
        Row{"SSH-2.0-OpenSSH_9.2\r\n", "check host and port"},
        Row{"\x15\x03\x03\x00\x02\x02\x46"s, "TLS"}}) {
    for (const RequestKind kind : kKinds) {
      const Exchange result = converse(kind, row.bytes);
      CHECK(result.outcome.answer == Answer::misconfigured);
      CHECK_MESSAGE(result.outcome.reason.find(row.says) != std::string::npos,
                    result.outcome.reason);
      CHECK(!result.connection_kept);
    }
  }
}

TEST_CASE("no answer: unknown") {
  for (const RequestKind kind : kKinds) {
    FakeRedis server([](const FakeRedis::Command&) { return Reaction{"", true}; });
    NodeDriver driver(server.url());
    const Outcome outcome = driver.outcome(driver.send(kind));
    CHECK(outcome.answer == Answer::unknown);
    CHECK(outcome.reason ==
          "the server closed the connection before any answer (is this a port for TLS?)");
  }
}

TEST_CASE("reasons are one bounded line") {
  const Outcome outcome =
      converse(RequestKind::acquire, resp::error("ERR \x1b[2J" + std::string(5000, 'x'))).outcome;
  CHECK(outcome.reason.size() == 200);
  CHECK(outcome.reason.starts_with("ERR \\x1b[2Jx"));
}

TEST_CASE("AUTH: a state of the server is not a refusal") {
  const auto answer = [](const std::string& text) {
    redis::Reply reply;
    reply.kind = redis::Reply::Kind::error;
    reply.text = text;
    return redis::judge_auth(reply)->answer;
  };
  CHECK(answer("LOADING Redis is loading the dataset in memory") == Answer::failed);
  CHECK(answer("ERR max number of clients reached") == Answer::failed);
  CHECK(answer("WRONGPASS invalid username-password pair") == Answer::refused);
  CHECK(answer("ERR invalid password") == Answer::refused);
  CHECK(answer("ERR AUTH <password> called without any password configured") == Answer::refused);
  CHECK(answer("ERR unknown command 'AUTH', with args beginning with: 'x'") == Answer::refused);
}

TEST_CASE("SELECT: an error without a code is about the database number") {
  const auto answer = [](const std::string& text) {
    redis::Reply reply;
    reply.kind = redis::Reply::Kind::error;
    reply.text = text;
    return redis::judge_select(reply)->answer;
  };
  CHECK(answer("ERR DB index is out of range") == Answer::misconfigured);
  CHECK(answer("ERR SELECT is not allowed in cluster mode") == Answer::misconfigured);
  CHECK(answer("ERR unknown command 'SELECT', with args beginning with: '1'") ==
        Answer::misconfigured);
  CHECK(answer("ERR max number of clients reached") == Answer::failed);
  CHECK(answer("NOAUTH Authentication required.") == Answer::refused);
  CHECK(answer("NOPERM this user has no permissions to run the 'select' command") ==
        Answer::refused);
  CHECK(answer("LOADING Redis is loading the dataset in memory") == Answer::failed);
}

}  // namespace
}  // namespace redlock::test
