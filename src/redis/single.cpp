#include "redis/single.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "redis/scripts.h"

namespace redlock::redis {
namespace {

template <class Sockaddr>
Address to_address(const Sockaddr& from) {
  static_assert(sizeof from <= sizeof(sockaddr_storage));
  Address address;
  std::memcpy(&address.storage, &from, sizeof from);
  address.length = sizeof from;
  return address;
}

std::optional<Address> numeric_address(const std::string& host, std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) return to_address(v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) return to_address(v6);
  return std::nullopt;
}

Address socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  RR_ASSERT(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return to_address(address);
}

bool is_localhost(std::string_view host) {
  constexpr std::string_view kName = "localhost";
  return std::equal(host.begin(), host.end(), kName.begin(), kName.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

/// The addresses that can be told without asking anybody; none for other names.
std::deque<Address> known_addresses(const Url& url) {
  if (!url.socket_path.empty()) return {socket_address(url.socket_path)};
  if (is_localhost(url.host)) {  // RFC 6761: never a question to a name server
    return {*numeric_address("127.0.0.1", url.port), *numeric_address("::1", url.port)};
  }
  if (const auto address = numeric_address(url.host, url.port)) return {*address};
  return {};
}

std::string text_of(Duration span) {
  if (span.ms() % 1000 == 0) return std::to_string(span.ms() / 1000) + "s";
  return std::to_string(span.ms()) + "ms";
}

/// In seconds, for the script; empty when nobody wants to know.
std::string least_uptime(const LockIdentity& identity, bool heals) {
  const std::int64_t ms = identity.min_uptime.ms();
  // Redis rounds its own up.
  if (ms > 0 && !heals) return std::to_string((ms + 999) / 1000 + 1);
  return identity.several ? "0" : "";
}

std::vector<std::string> script_command(const core::Request& request, const LockIdentity& identity,
                                        const std::string& fence_key) {
  const std::string& key = identity.key.get();
  const std::string token = identity.token(request.attempt).get();
  const std::string ttl = std::to_string(identity.ttl.ms());
  std::vector<std::string> command = {"EVAL"};
  switch (request.kind) {
    case core::RequestKind::acquire:
    case core::RequestKind::heal: {
      // A heal continues a number that has been given out, however the clock stands by now.
      const bool heals = request.kind == core::RequestKind::heal;
      const std::string least_fence = heals ? std::to_string(request.fence.get())
                                            : std::to_string(identity.wall_ms(request.attempt));
      command.insert(command.end(), {scripts::kAcquire, "2", key, fence_key, identity.run_id + ".",
                                     token, ttl, least_fence, least_uptime(identity, heals)});
      break;
    }
    case core::RequestKind::renew:
      command.insert(command.end(), {scripts::kRenew, "2", key, fence_key, token, ttl,
                                     std::to_string(request.fence.get())});
      break;
    case core::RequestKind::release:
      command.insert(command.end(), {scripts::kRelease, "1", key, token});
      break;
  }
  return command;
}

}  // namespace

SingleNode::SingleNode(Url url, NodeLimits limits, os::EventLoop& loop, Resolver& resolver,
                       const LockIdentity& identity, Sink sink, LinkSink link)
    : url_(std::move(url)),
      limits_(limits),
      loop_(loop),
      resolver_(resolver),
      identity_(identity),
      sink_(std::move(sink)),
      link_(std::move(link)),
      name_(url_.display()),
      fence_key_(fence_key(identity_.key)) {}

SingleNode::~SingleNode() = default;

void SingleNode::send(const core::Request& request, TimePoint now) {
  if (state_ == State::ready) {
    ask(request, now);
    connection_->flush();
    return;
  }
  waiting_.push_back(request);
  if (state_ == State::idle) find_addresses(now);
}

// --- from nothing to ready -----------------------------------------------------------------------

void SingleNode::find_addresses(TimePoint now) {
  deadline_ = now + limits_.connect;
  failure_.clear();
  addresses_ = known_addresses(url_);
  if (!addresses_.empty()) {
    connect_next();
    return;
  }
  state_ = State::resolving;
  query_ = resolver_.resolve(url_.host, url_.port, [this](Result<std::vector<Address>> found) {
    // The query is not destroyed here, inside its own callback, but by the next one.
    if (!found.ok()) {
      give_up(unknown(found.error().message));
      return;
    }
    addresses_.assign(found.value().begin(), found.value().end());
    connect_next();
  });
}

void SingleNode::connect_next() {
  while (!addresses_.empty()) {
    const Address address = addresses_.front();
    addresses_.pop_front();
    auto opened =
        Connection::open(loop_, address, [this](const Connection::News& news) { on_news(news); });
    if (opened.ok()) {
      connection_ = std::move(opened).value();
      state_ = State::connecting;
      address_deadline_.reset();
      if (addresses_.empty()) address_deadline_ = deadline_;
      return;
    }
    if (failure_.empty()) failure_ = opened.error().message;
  }
  give_up(unknown(failure_));
}

void SingleNode::fail_address(const std::string& reason) {
  if (failure_.empty()) failure_ = reason;
  connection_.reset();
  connect_next();
}

void SingleNode::greet() {
  state_ = State::greeting;
  heard_ = false;
  if (url_.has_credentials()) {
    const std::string password = url_.password.value_or("");
    if (url_.user.empty()) {
      connection_->command({"AUTH", password});
    } else {
      connection_->command({"AUTH", url_.user, password});
    }
    expected_.push_back({Question::auth, {}, {}, std::nullopt});
  }
  if (url_.db != 0) {
    connection_->command({"SELECT", std::to_string(url_.db)});
    expected_.push_back({Question::select, {}, {}, std::nullopt});
  }
  // Requests must not follow before these are known to have worked: behind a refused SELECT they
  // would lock in the wrong database.
  if (expected_.empty()) {
    become_ready();
  } else {
    connection_->flush();
  }
}

void SingleNode::become_ready() {
  state_ = State::ready;
  if (identity_.several) peer_ = peer_of(connection_->fd());
  if (link_) link_(Link::up);
  for (const core::Request& request : std::exchange(waiting_, {})) ask(request, std::nullopt);
  connection_->flush();
}

// --- asking and being answered -------------------------------------------------------------------

void SingleNode::ask(const core::Request& request, std::optional<TimePoint> now) {
  connection_->command(script_command(request, identity_, fence_key_));
  expected_.push_back({Question::script, request, {}, now});
}

void SingleNode::on_news(const Connection::News& news) {
  if (news.connected) greet();
  for (const Reply& reply : news.replies) {
    on_reply(reply);
    if (state_ == State::idle) return;  // given up because of it
  }
  if (drop_reason_) {
    give_up(unknown(*drop_reason_));
    return;
  }
  if (!news.breakdown) return;
  const std::string& reason = news.breakdown->reason;
  switch (news.breakdown->end) {
    case Connection::End::refused:
      fail_address(reason);
      return;
    case Connection::End::lost:
      // A port for TLS hangs up on what is not TLS, mostly without a word.
      give_up(unknown(heard_ ? reason : reason + " before any answer (is this a port for TLS?)"));
      return;
    case Connection::End::not_redis:
      give_up(not_redis(reason));
      return;
  }
}

void SingleNode::on_reply(const Reply& reply) {
  RR_ASSERT(!expected_.empty());
  heard_ = true;
  const Expected expected = std::move(expected_.front());
  expected_.pop_front();
  switch (expected.question) {
    case Question::auth:
    case Question::select: {
      const auto failure =
          expected.question == Question::auth ? judge_auth(reply) : judge_select(reply);
      if (failure) {
        give_up(*failure);
      } else if (expected_.empty()) {
        become_ready();
      }
      return;
    }
    case Question::script: {
      Verdict verdict = judge(expected.request.kind, reply);
      if (verdict.follow_up == FollowUp::confirm_absence ||
          verdict.follow_up == FollowUp::explain_no_eval) {
        if (verdict.follow_up == FollowUp::explain_no_eval && link_) link_(Link::doubtful);
        connection_->command({"ROLE"});
        connection_->flush();
        expected_.push_back({Question::role, expected.request, std::move(verdict), std::nullopt});
        return;
      }
      settle(expected.request, std::move(verdict));
      return;
    }
    case Question::role: {
      const bool about_eval = expected.claim.follow_up == FollowUp::explain_no_eval;
      settle(expected.request, about_eval ? explain_no_eval(expected.claim, reply)
                                          : confirm_absence(expected.claim, reply));
      return;
    }
  }
}

void SingleNode::settle(const core::Request& request, Verdict verdict) {
  if (verdict.follow_up == FollowUp::reconnect) {
    drop_reason_ = "connection dropped after: " + verdict.outcome.reason;
  }
  sink_(request.id, std::move(verdict.outcome));
}

void SingleNode::give_up(const core::Outcome& outcome) {
  const bool stood = std::exchange(state_, State::idle) == State::ready;
  connection_.reset();
  peer_.reset();
  addresses_.clear();
  drop_reason_.reset();
  const auto expected = std::exchange(expected_, {});
  const auto waiting = std::exchange(waiting_, {});
  for (const Expected& one : expected) {
    const bool greeting = one.question == Question::auth || one.question == Question::select;
    if (!greeting) sink_(one.request.id, outcome);
  }
  for (const core::Request& request : waiting) sink_(request.id, outcome);
  if (stood && link_) link_(Link::down);
}

// --- time ----------------------------------------------------------------------------------------

TimePoint SingleNode::wakeup() const {
  switch (state_) {
    case State::idle:
      return TimePoint::never();
    case State::resolving:
    case State::greeting:
      return deadline_;
    case State::connecting:
      return address_deadline_.value_or(TimePoint::past());
    case State::ready:
      if (expected_.empty()) return TimePoint::never();
      if (!expected_.front().since) return TimePoint::past();
      return *expected_.front().since + limits_.silence;
  }
  RR_ASSERT(false);
}

void SingleNode::tick(TimePoint now) {
  switch (state_) {
    case State::idle:
      return;
    case State::resolving:
    case State::greeting:
      if (now < deadline_) return;
      query_.reset();
      give_up(unknown("no connection within " + text_of(limits_.connect)));
      return;
    case State::connecting:
      tick_connecting(now);
      return;
    case State::ready:
      tick_ready(now);
      return;
  }
}

void SingleNode::tick_connecting(TimePoint now) {
  const std::string late = "no connection within " + text_of(limits_.connect);
  if (now >= deadline_) {
    give_up(unknown(late));
    return;
  }
  if (address_deadline_ && now >= *address_deadline_) fail_address(late);
  if (state_ != State::connecting || address_deadline_) return;
  // The untried addresses get equal shares of what is left.
  const auto shares = static_cast<std::int64_t>(addresses_.size()) + 1;
  address_deadline_ = now + (deadline_ - now) / shares;
}

void SingleNode::tick_ready(TimePoint now) {
  for (Expected& expected : expected_) {
    if (!expected.since) expected.since = now;
  }
  if (expected_.empty() || now < *expected_.front().since + limits_.silence) return;
  give_up(unknown("no answer for " + text_of(limits_.silence)));
}

}  // namespace redlock::redis
