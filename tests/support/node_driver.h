// Drives one redis::SingleNode against a server as the runtime would, and collects the outcomes.
// Headers only, so that the support library itself needs none of the program's floors.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/event_loop.h"
#include "redis/single.h"
#include "support/wait.h"

namespace redlock::test {

/// Answers from a table, when told to; keeps silent about names that are not in it.
class FakeResolver : public redis::Resolver {
 public:
  std::map<std::string, Result<std::vector<redis::Address>>> answers;
  std::size_t questions = 0;

  std::unique_ptr<Query> resolve(const std::string& host, std::uint16_t /*port*/,
                                 Done done) override {
    ++questions;
    auto query = std::make_unique<Pending>();
    open_.push_back({query->alive, host, std::move(done)});
    return query;
  }

  void answer() {
    for (const Question& question : std::exchange(open_, {})) {
      const auto known = answers.find(question.host);
      if (question.alive.expired()) continue;
      if (known == answers.end()) {
        open_.push_back(question);
      } else {
        question.done(known->second);
      }
    }
  }

 private:
  struct Pending : Query {
    std::shared_ptr<int> alive = std::make_shared<int>();
  };
  struct Question {
    std::weak_ptr<int> alive;
    std::string host;
    Done done;
  };
  std::vector<Question> open_;
};

inline const std::string kRunId = "00112233445566778899aabbccddeeff";

/// The text stored by attempt `attempt` of run `run_id`.
inline std::string token_text(std::uint32_t attempt, const std::string& run_id = kRunId) {
  return redis::make_token(run_id, core::Attempt(attempt), {"host-a", 4242, 1'700'000'000}).get();
}

class NodeDriver {
 public:
  struct Options {
    std::string key = "lock:job";
    std::string run_id = kRunId;
    Duration ttl = Duration::seconds(30);
    redis::NodeLimits limits = {Duration::seconds(20), Duration::seconds(20)};
    std::int64_t wall_ms = 1'000;
    Duration min_uptime = {};
    bool several = false;
  };

  explicit NodeDriver(const std::string& url) : NodeDriver(url, Options()) {}
  NodeDriver(const std::string& url, Options options) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto parsed = redis::parse_url(url);
    REQUIRE(parsed.ok());
    identity_.key = LockKey(options.key);
    identity_.run_id = options.run_id;
    identity_.ttl = options.ttl;
    identity_.token = [run_id = options.run_id](core::Attempt attempt) {
      return Token(token_text(attempt.get(), run_id));
    };
    identity_.min_uptime = options.min_uptime;
    identity_.several = options.several;
    identity_.wall_ms = [wall_ms = options.wall_ms](core::Attempt) { return wall_ms; };
    node_ = std::make_unique<redis::SingleNode>(
        parsed.value(), options.limits, loop_, resolver, identity_,
        [this](core::RequestId id, core::Outcome outcome) {
          CHECK(sent_.contains(id));
          const bool first = outcomes_.emplace(id, std::move(outcome)).second;
          CHECK_MESSAGE(first, "a second outcome for one request");
        },
        [this](redis::Node::Link link) {
          if (link != redis::Node::Link::doubtful) links.push_back(link == redis::Node::Link::up);
        });
  }
  NodeDriver(const NodeDriver&) = delete;
  NodeDriver& operator=(const NodeDriver&) = delete;

  core::RequestId send(core::RequestKind kind, std::uint32_t attempt = 1, std::uint64_t fence = 0) {
    const core::RequestId id(next_id_++);
    sent_[id] = kind;
    node_->send({id, kind, core::Attempt(attempt), FencingToken(fence)}, now());
    return id;
  }
  core::RequestId acquire(std::uint32_t attempt = 1) {
    return send(core::RequestKind::acquire, attempt);
  }
  core::RequestId renew(std::uint32_t attempt = 1, std::uint64_t fence = 0) {
    return send(core::RequestKind::renew, attempt, fence);
  }
  core::RequestId release(std::uint32_t attempt = 1) {
    return send(core::RequestKind::release, attempt);
  }

  bool answered(core::RequestId id) const { return outcomes_.contains(id); }
  /// Runs the loop until the outcome is there.
  core::Outcome outcome(core::RequestId id) {
    REQUIRE(turn_until([this, id] { return answered(id); }));
    return outcomes_.at(id);
  }
  [[nodiscard]] bool turn_until(const std::function<bool()>& fact) {
    const Stopwatch watch;
    while (!fact()) {
      if (watch.elapsed() > kPatience) return false;
      turn();
    }
    return true;
  }
  void turn() {
    const TimePoint soon = now() + Duration::milliseconds(5);
    loop_.wait_until(node_ ? std::min(node_->wakeup(), soon) : soon);
    resolver.answer();
    if (node_ && node_->wakeup() <= now()) node_->tick(now());
    ++turns;
  }

  redis::SingleNode& node() { return *node_; }
  void destroy_node() { node_.reset(); }
  static TimePoint now() { return TimePoint::from_ns(boottime_ns()); }

  FakeResolver resolver;
  std::size_t turns = 0;
  /// What the node told of its connection.
  std::vector<bool> links;

 private:
  os::EventLoop loop_;
  redis::LockIdentity identity_;
  std::uint64_t next_id_ = 1;
  std::map<core::RequestId, core::RequestKind> sent_;
  std::map<core::RequestId, core::Outcome> outcomes_;
  std::unique_ptr<redis::SingleNode> node_;
};

}  // namespace redlock::test
