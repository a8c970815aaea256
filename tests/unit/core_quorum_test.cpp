// Votes of several servers: who decides, who is waited for, and lists that cannot work.
#include "support/lease_driver.h"

TEST_SUITE_BEGIN("core.quorum");

namespace redlock::test {
namespace {

using core::Answer;
using core::GaveUp;
using core::Granted;
using core::Lease;
using core::Outcome;
using core::Refusal;
using core::Released;
using core::RequestKind;

Outcome granted_by(const std::string& server) {
  Outcome outcome;
  outcome.answer = Answer::granted;
  outcome.fence = FencingToken(7);
  outcome.server = server;
  return outcome;
}

Outcome held_by(const std::string& holder) {
  Outcome outcome;
  outcome.answer = Answer::held;
  outcome.remaining = ms(5000);
  outcome.holder = holder;
  outcome.holder_id = holder;
  return outcome;
}

std::size_t count_sent(const LeaseDriver& d, RequestKind kind) {
  std::size_t sent = 0;
  for (const core::Send& send : d.sent) sent += send.request.kind == kind ? 1 : 0;
  return sent;
}

/// Lets pauses pass and answers every acquire by `answer` until the lease gives up.
template <class AnswerFor>
std::optional<GaveUp> until_given_up(LeaseDriver& d, std::size_t nodes, AnswerFor answer) {
  std::optional<GaveUp> gave_up;
  for (int turns = 0; !gave_up && turns < 1000; ++turns) {
    bool any = false;
    for (std::size_t i = 0; i < nodes && !gave_up; ++i) {
      if (!d.asked(i)) continue;
      any = true;
      const bool release = d.asked(i)->kind == RequestKind::release;
      gave_up = only<GaveUp>(release ? d.say(i, Answer::granted) : d.answer(i, answer(i)));
    }
    if (!any && !gave_up) gave_up = only<GaveUp>(d.wake());
  }
  return gave_up;
}

TEST_CASE("held means that one other holds a majority") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.answer(0, held_by("a"));
  const auto gave_up = only<GaveUp>(d.answer(1, held_by("a")));
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::held);
}

TEST_CASE("servers held by different rivals are a split vote, tried again for a while") {
  LeaseDriver d(lease_config(3));
  d.begin();
  const auto gave_up =
      until_given_up(d, 3, [](std::size_t i) { return held_by(std::string(1, "abc"[i])); });
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::contended);
  CHECK(count_sent(d, RequestKind::acquire) > 6);
  CHECK(d.now - kStart >= ms(700));
  CHECK(d.now - kStart <= ms(1000));
}

TEST_CASE("who holds a part beside another holder waits for no connection longer than an answer") {
  LeaseDriver d(lease_config(3));
  d.link(2, false);
  d.begin();
  d.grant(0);
  SUBCASE("the other is seen") {
    d.answer(1, held_by("other"));
    d.wake();
    CHECK(d.now == kStart + ms(150));
    REQUIRE(d.asked(0));
    CHECK(d.asked(0)->kind == RequestKind::release);
  }
  SUBCASE("nobody is in the way") {
    d.after(ms(400));
    CHECK(d.lease.state() == Lease::State::acquiring);
    CHECK_FALSE(d.asked(0));
  }
}

TEST_CASE("one granted and one held of two is a split vote, and what was granted is given back") {
  LeaseDriver d(lease_config(2));
  d.begin();
  const auto gave_up = until_given_up(
      d, 2, [](std::size_t i) { return i == 0 ? granted_by("s") : held_by("other"); });
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::contended);
  CHECK(count_sent(d, RequestKind::release) == count_sent(d, RequestKind::acquire) / 2);
}

TEST_CASE("a server that is in the list twice ends even a wait, whichever answers first") {
  for (const bool twin_first : {true, false}) {
    LeaseDriver d(lease_config(5, Duration::infinite()));
    d.begin();
    d.answer(0, granted_by("one"));
    if (!twin_first) d.answer(1, granted_by("two"));
    static_cast<void>(d.answer(4, granted_by("one")));
    REQUIRE(d.lease.report(NodeIndex(0)).twin);
    CHECK(*d.lease.report(NodeIndex(0)).twin == NodeIndex(4));
    CHECK(*d.lease.report(NodeIndex(4)).twin == NodeIndex(0));
    const auto gave_up = until_given_up(d, 5, [](std::size_t) { return granted_by(""); });
    REQUIRE(gave_up);
    CHECK(gave_up->why == Refusal::misconfigured);
  }
}

TEST_CASE("a twin that shows only under a held lease gets no vote, and no release of its own") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.answer(0, granted_by("one"));
  d.answer(1, granted_by("two"));
  REQUIRE(only<Granted>(d.after_stragglers()));
  const TimePoint until = d.lease.valid_until();
  d.answer(2, granted_by("one"));
  CHECK(d.lease.report(NodeIndex(2)).twin);
  CHECK(d.lease.valid_until() == until);
  d.wake();
  CHECK_FALSE(d.asked(2));
  d.step(core::GiveBack{ms(1000)});
  CHECK(count_sent(d, RequestKind::release) == 2);
}

TEST_CASE("servers that do not say who they are are no twins") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.answer(0, granted_by(""));
  d.answer(1, granted_by(""));
  CHECK(only<Granted>(d.after_stragglers()));
}

TEST_CASE("a Sentinel in the list ends the run, a majority of others or not") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.say(2, Answer::misplaced);
  const auto gave_up = until_given_up(d, 3, [](std::size_t) { return granted_by(""); });
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::misconfigured);
}

TEST_CASE("a minority without the right, or that is no lock server, is a lost minority") {
  for (const Answer answer : {Answer::refused, Answer::misconfigured, Answer::young}) {
    LeaseDriver d(lease_config(3));
    d.begin();
    d.say(0, answer);
    d.grant(1);
    CHECK(only<Granted>(d.grant(2)));
  }
}

TEST_CASE("young servers do not vote, store nothing, and are not asked again without a wait") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.say(0, Answer::young);
  // Whatever the third says, there is no quorum any more; behind its question stands a release.
  const auto gave_up = only<GaveUp>(d.say(1, Answer::young));
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::unavailable);
  CHECK(count_sent(d, RequestKind::release) == 1);
  CHECK(count_sent(d, RequestKind::acquire) == 3);
}

TEST_CASE("a wait rides young servers out") {
  LeaseDriver d(lease_config(3, Duration::seconds(60)));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.say(i, Answer::young);
  CHECK(d.lease.state() == Lease::State::pausing);
  d.wake();
  d.grant(0);
  CHECK(only<Granted>(d.grant(1)));
}

TEST_CASE("late grants are listened to for an eighth of the time that the quorum took") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.now = d.now + ms(8);
  d.grant(0);
  CHECK_FALSE(only<Granted>(d.grant(1)));
  SUBCASE("and then no longer") {
    d.wake();
    CHECK(d.now == kStart + ms(9));
    CHECK(d.lease.state() == Lease::State::held);
  }
  SUBCASE("or until all have answered") {
    CHECK(only<Granted>(d.grant(2)));
  }
}

TEST_CASE("without a connection a server is not listened for") {
  LeaseDriver d(lease_config(3));
  d.link(2, false);
  d.begin();
  d.now = d.now + ms(80);
  d.grant(0);
  CHECK(only<Granted>(d.grant(1)));
}

TEST_CASE("a server that may be another's twin is listened for until it is silent") {
  LeaseDriver d(lease_config(3));
  d.step(core::NodeLink{NodeIndex(2), true, true});
  d.begin();
  d.grant(0);
  CHECK_FALSE(only<Granted>(d.grant(1)));
  CHECK_FALSE(only<Granted>(d.after_stragglers()));
  CHECK_FALSE(only<Granted>(d.tick()));
  d.wake();
  CHECK(d.now == kStart + ms(150));
  CHECK(d.lease.state() == Lease::State::held);
}

TEST_CASE("a short job does not wait at its end for a minority that never answered") {
  LeaseDriver d(lease_config(5));
  d.link(4, false);  // not even connected
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.after_stragglers();
  REQUIRE(d.lease.state() == Lease::State::held);
  d.step(core::GiveBack{ms(2000)});
  d.say(0, Answer::granted);
  d.say(1, Answer::granted);
  d.say(2, Answer::granted);
  // A tenth of the time since the beginning.
  const TimePoint end = d.now;
  const auto released = only<Released>(d.wake());
  CHECK(d.now - end == Duration::microseconds(50));
  REQUIRE(released);
  CHECK(released->free);
  CHECK_FALSE(released->everywhere);
  // Its release stands behind the question all the same.
  CHECK(d.unanswered(3) == 2);
}

TEST_CASE("a long job waits for them a little, but not longer than a server may take to answer") {
  LeaseDriver d(lease_config(3));
  d.begin();
  for (std::size_t i = 0; i < 2; ++i) d.grant(i);
  d.after_stragglers();
  for (int round = 0; round < 5; ++round) {
    d.wake();
    for (std::size_t i = 0; i < 2; ++i) {
      if (d.asked(i)) d.grant(i);
    }
  }
  const TimePoint end = d.now;
  d.step(core::GiveBack{ms(2000)});
  d.say(0, Answer::granted);
  CHECK_FALSE(only<Released>(d.say(1, Answer::granted)));
  std::optional<Released> released;
  while (!released) released = only<Released>(d.wake());
  CHECK(released->free);
  CHECK(d.now - end == ms(150));
}

TEST_CASE("a server that froze under the lease delays the end by a fifth of a second at most") {
  core::LeaseConfig config = lease_config(3);
  config.timing = core::Timing::for_ttl(Duration::seconds(30));
  LeaseDriver d(config);
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.now = d.now + ms(9'000);
  const TimePoint end = d.now;
  d.step(core::GiveBack{ms(2000)});
  d.say(0, Answer::granted);
  d.say(1, Answer::granted);
  std::optional<Released> released;
  while (!released) released = only<Released>(d.wake());
  CHECK(released->free);
  CHECK(d.now - end == ms(200));
}

TEST_CASE("a server whose connection broke while it held the key is reached for before the end") {
  LeaseDriver d(lease_config(3));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.link(2, false);
  d.step(core::GiveBack{ms(2000)});
  d.say(0, Answer::granted);
  CHECK_FALSE(only<Released>(d.say(1, Answer::granted)));
  d.link(2, true);
  const auto released = only<Released>(d.say(2, Answer::granted));
  REQUIRE(released);
  CHECK(released->everywhere);
}

TEST_CASE("a release that failed is tried again during the pauses between attempts") {
  LeaseDriver d(lease_config(3, Duration::seconds(60)));
  d.begin();
  std::size_t in_pauses = 0;
  for (int turns = 0; turns < 500 && in_pauses == 0; ++turns) {
    if (!d.asked(0)) d.wake();
    const bool pausing = d.lease.state() == Lease::State::pausing;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (d.asked(i)) d.held(i, ms(5000));
    }
    if (!d.asked(0)) continue;
    const bool release = d.asked(0)->kind == RequestKind::release;
    if (release && pausing) ++in_pauses;
    release ? d.say(0, Answer::unknown) : d.grant(0);
  }
  CHECK(in_pauses > 0);
}

TEST_CASE(
    "a server that owes the answer to a release is healed behind it, and released in the end") {
  LeaseDriver d(lease_config(3, Duration::seconds(20)));
  d.begin();
  d.grant(0);
  d.held(1, ms(20));
  d.held(2, ms(20));
  REQUIRE(d.asked(0)->kind == RequestKind::release);  // of attempt 1, and not answered for long
  while (d.lease.state() != Lease::State::acquiring) d.wake();
  d.grant(1);
  d.grant(2);
  REQUIRE(d.lease.state() == Lease::State::held);
  d.after(ms(400));
  CHECK(d.unanswered(0) == 1);
  d.say(0, Answer::granted);
  while (!d.asked(0)) d.wake();
  CHECK(d.asked(0)->kind == RequestKind::acquire);
  d.grant(0);
  d.step(core::GiveBack{ms(2000)});
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::release);
  CHECK(d.asked(0)->attempt > core::Attempt(1));
}

TEST_CASE("the answer to a renewal of an earlier attempt says nothing about a later one") {
  LeaseDriver d(lease_config(3, Duration::seconds(20)));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.wake();
  d.grant(1);
  d.grant(2);
  // The job could not be started in time; a renewal is still under way to server 0.
  d.step(core::TryAgain{});
  d.say(1, Answer::granted);
  d.say(2, Answer::granted);
  while (d.lease.state() != Lease::State::acquiring) d.wake();
  d.grant(1);
  d.grant(2);
  REQUIRE(d.lease.state() == Lease::State::held);
  d.say(0, Answer::gone);
  CHECK(d.lease.report(NodeIndex(0)).answer != Answer::gone);
  CHECK(d.lease.state() == Lease::State::held);
}

TEST_CASE("an attempt that never left for a server does not hide that an earlier one did") {
  LeaseDriver d(lease_config(1, Duration::seconds(20)));
  d.begin();
  d.say(0, Answer::unknown);  // the connection broke under it: perhaps stored
  d.link(0, false);
  d.say(0, Answer::unknown);  // so did the one of its release
  while (!(d.asked(0) && d.asked(0)->kind == RequestKind::acquire)) {
    if (d.asked(0)) {
      d.say(0, Answer::unknown);
    } else {
      d.wake();
    }
  }
  CHECK(d.asked(0)->attempt == core::Attempt(2));
  d.say(0, Answer::unknown);  // refused before anything left
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::release);
  CHECK(d.asked(0)->attempt == core::Attempt(1));
}

}  // namespace
}  // namespace redlock::test
