#include "support/lease_driver.h"

namespace redlock::test {
namespace {

using core::Answer;
using core::GaveUp;
using core::Granted;
using core::Lease;
using core::Refusal;
using core::RequestKind;

TEST_CASE("one free server grants, and validity counts from before the request was sent") {
  LeaseDriver d(lease_config());
  d.begin();
  d.now = d.now + ms(40);
  const auto granted = only<Granted>(d.grant(0, 99));
  REQUIRE(granted);
  CHECK(granted->fence == FencingToken(99));
  CHECK(granted->valid_until == kStart + ms(3000 - 32));
  CHECK(d.lease.state() == Lease::State::held);
}

TEST_CASE("a lease too far spent for one renewal before its stop line is given back and retried") {
  LeaseDriver d(lease_config(1, Duration::seconds(20)));
  d.begin();
  // stop line 3000-32-150-750 = 2068 ms after the request; one renewal interval before it is 1068.
  d.now = d.now + ms(1069);
  CHECK_FALSE(only<Granted>(d.grant(0)));
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::release);
  d.say(0, Answer::granted);
  d.wake();
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::acquire);
  CHECK(d.asked(0)->attempt == core::Attempt(2));
  d.now = d.now + ms(1068);
  CHECK(only<Granted>(d.grant(0)));
}

TEST_CASE("an attempt during which the wall clock jumped by more than it has left is begun again") {
  LeaseDriver d(lease_config(3, Duration::seconds(20)));
  d.begin();
  d.grant(0);
  d.step(core::TimeSlipped{ms(1500)});
  CHECK_FALSE(only<Granted>(d.grant(1)));
  d.after_stragglers();
  CHECK(d.lease.state() == Lease::State::clearing);
}

TEST_CASE("without waiting, held is the answer after one request and nothing is left to undo") {
  LeaseDriver d(lease_config());
  d.begin();
  const auto gave_up = only<GaveUp>(d.held(0, ms(500)));
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::held);
  CHECK(d.sent.size() == 1);
  REQUIRE(d.lease.last_held());
  CHECK(d.lease.last_held()->holder == "other");
  CHECK(d.lease.last_held()->remaining == ms(500));
}

TEST_CASE("rights and wrong servers end even a wait at once") {
  for (const auto& [answer, refusal] : {std::pair{Answer::refused, Refusal::denied},
                                        std::pair{Answer::misconfigured, Refusal::misconfigured}}) {
    LeaseDriver d(lease_config(1, Duration::infinite()));
    d.begin();
    const auto gave_up = only<GaveUp>(d.say(0, answer));
    REQUIRE(gave_up);
    CHECK(gave_up->why == refusal);
    CHECK(d.sent.size() == 1);
  }
}

TEST_CASE("a silent server is sent a release behind its acquire before the lease gives up") {
  LeaseDriver d(lease_config());
  d.begin();
  CHECK_FALSE(only<GaveUp>(d.after(ms(149))));
  CHECK(d.unanswered(0) == 1);
  d.after(ms(1));
  CHECK(d.unanswered(0) == 2);
  CHECK(d.sent.back().request.kind == RequestKind::release);
  CHECK(d.sent.back().request.attempt == core::Attempt(1));
  const auto gave_up = only<GaveUp>(d.after(ms(150)));
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::unavailable);
  CHECK(d.lease.report(NodeIndex(0)).silent);
}

TEST_CASE("silence counts from when the connection stands, not from when it was asked for") {
  LeaseDriver d(lease_config(), false);
  d.begin();
  CHECK(d.after(ms(1000)).empty());
  CHECK(d.lease.state() == Lease::State::acquiring);
  d.link(0, true);
  CHECK(d.after(ms(149)).empty());
  CHECK(only<core::Send>(d.after(ms(1))));
}

TEST_CASE("a server that was never reached has nothing to be released") {
  LeaseDriver d(lease_config(), false);
  d.begin();
  const auto gave_up = only<GaveUp>(d.say(0, Answer::unknown));
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::unavailable);
  CHECK(d.sent.size() == 1);
}

TEST_CASE("a connection that broke under the acquire is followed by a release of that attempt") {
  LeaseDriver d(lease_config());
  d.begin();
  d.say(0, Answer::unknown);
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::release);
  CHECK(d.asked(0)->attempt == core::Attempt(1));
}

TEST_CASE("without waiting, a server that cannot just now is asked again for a quarter ttl") {
  LeaseDriver d(lease_config());
  d.begin();
  int attempts = 0;
  for (int i = 0; i < 1000 && d.lease.state() != Lease::State::ended; ++i) {
    if (!d.asked(0)) {
      d.wake();
      continue;
    }
    const bool acquire = d.asked(0)->kind == RequestKind::acquire;
    attempts += acquire ? 1 : 0;
    d.now = d.now + ms(1);
    d.say(0, acquire ? Answer::failed : Answer::gone);
  }
  CHECK(attempts >= 2);
  CHECK(d.lease.state() == Lease::State::ended);
  CHECK(d.now - kStart >= ms(750));
  CHECK(d.now - kStart <= ms(760));
}

TEST_CASE("a waiter comes back no later than just after the holder's key expires") {
  LeaseDriver d(lease_config(1, Duration::infinite()));
  d.begin();
  d.held(0, ms(12));
  const Duration pause = d.lease.wakeup() - d.now;
  CHECK(pause >= ms(13));
  CHECK(pause <= ms(32));
  d.wake();
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::acquire);
}

TEST_CASE("a waiter's pauses are bounded whatever the holder's key has left") {
  LeaseDriver d(lease_config(1, Duration::infinite()));
  d.begin();
  for (int i = 0; i < 40; ++i) {
    d.held(0, Duration::infinite());
    CHECK(d.lease.wakeup() - d.now <= ms(450));
    d.wake();
  }
}

TEST_CASE("a wait ends at its deadline, whatever the servers do") {
  bool silent = false;
  SUBCASE("they answer") {}
  SUBCASE("they fall silent") {
    silent = true;
  }
  LeaseDriver d(lease_config(1, ms(5000)));
  d.begin();
  std::optional<GaveUp> gave_up;
  while (!gave_up && d.now < kStart + Duration::seconds(60)) {
    const bool answers = d.asked(0) && !(silent && d.now > kStart + ms(1000));
    gave_up = only<GaveUp>(answers ? d.held(0, Duration::seconds(9)) : d.wake());
  }
  REQUIRE(gave_up);
  CHECK(d.now - kStart >= ms(5000));
  CHECK(d.now - kStart <= ms(5100));
  // The last quorum that spoke said held; silence since then does not unsay it.
  CHECK(gave_up->why == Refusal::held);
}

TEST_CASE("a wait with servers that never answer ends as unavailable") {
  LeaseDriver d(lease_config(1, ms(2000)));
  d.begin();
  std::optional<GaveUp> gave_up;
  while (!gave_up) gave_up = only<GaveUp>(d.wake());
  CHECK(gave_up->why == Refusal::unavailable);
  CHECK(d.now - kStart <= ms(2100));
}

TEST_CASE("a server that stays silent has at most one acquire and one release outstanding") {
  LeaseDriver d(lease_config(1, Duration::infinite()));
  d.begin();
  for (int i = 0; i < 200; ++i) {
    d.wake();
    CHECK(d.unanswered(0) <= 2);
  }
  CHECK(d.sent.size() == 2);
}

TEST_CASE("a late grant of an attempt that was given up does not count for a later one") {
  LeaseDriver d(lease_config(1, Duration::infinite()));
  d.begin();
  while (d.unanswered(0) < 2) d.wake();
  d.after(ms(500));
  // Attempt 1 is granted, then released: only then is the server asked for another.
  CHECK_FALSE(only<Granted>(d.grant(0)));
  CHECK(d.sent.size() == 2);
  d.say(0, Answer::granted);
  while (!d.asked(0)) d.wake();
  CHECK(d.asked(0)->kind == RequestKind::acquire);
  CHECK(d.asked(0)->attempt > core::Attempt(1));
  CHECK(only<Granted>(d.grant(0)));
}

TEST_CASE("a majority decides, and a silent minority costs half a millisecond") {
  LeaseDriver d(lease_config(5));
  d.begin();
  CHECK_FALSE(only<Granted>(d.grant(0)));
  CHECK_FALSE(only<Granted>(d.grant(1)));
  CHECK_FALSE(only<Granted>(d.grant(2)));
  CHECK(d.lease.wakeup() == kStart + Duration::microseconds(500));
  CHECK(only<Granted>(d.wake()));
}

TEST_CASE("a majority that says held ends the attempt at once, and what was granted is undone") {
  LeaseDriver d(lease_config(5));
  d.begin();
  d.grant(0);
  d.held(1, ms(900));
  d.held(2, ms(900));
  const auto effects = d.held(3, ms(900));
  CHECK_FALSE(only<GaveUp>(effects));
  // The granted one and the silent one are sent releases.
  std::size_t releases = 0;
  for (const auto& send : d.sent) releases += send.request.kind == RequestKind::release ? 1 : 0;
  CHECK(releases == 2);
  // The silent one is not waited for: its release stands behind the question on its connection.
  const auto gave_up = only<GaveUp>(d.say(0, Answer::granted));
  REQUIRE(gave_up);
  CHECK(gave_up->why == Refusal::held);
}

TEST_CASE("a split vote is not held: it is tried again after a random pause") {
  LeaseDriver d(lease_config(2));
  d.begin();
  d.grant(0);
  d.held(1, ms(900));
  const auto pause = only<GaveUp>(d.say(0, Answer::granted));
  CHECK_FALSE(pause);
  CHECK(d.lease.state() == Lease::State::pausing);
  d.wake();
  CHECK(d.asked(0)->attempt == core::Attempt(2));
}

TEST_CASE("the fencing token is the largest seen, and the others are raised before the start") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.grant(0, 5);
  d.grant(1, 9);
  const auto raise = only<core::Send>(d.after_stragglers());
  REQUIRE(raise);
  CHECK(raise->node == NodeIndex(0));
  CHECK(raise->request.kind == RequestKind::renew);
  CHECK(raise->request.fence == FencingToken(9));
  const auto granted = only<Granted>(d.grant(0));
  REQUIRE(granted);
  CHECK(granted->fence == FencingToken(9));
}

TEST_CASE("a raise counts for the number it was asked for, not for a larger one seen meanwhile") {
  LeaseDriver d(lease_config(5));
  d.begin();
  d.grant(0, 5);
  d.grant(1, 5);
  d.grant(2, 7);
  d.after_stragglers();
  // Two are asked for 7; then a fourth server shows 9.
  d.grant(3, 9);
  CHECK_FALSE(only<Granted>(d.grant(0)));
  CHECK_FALSE(only<Granted>(d.grant(1)));
  // Asked again, for 9, the third server that agrees is enough.
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->fence == FencingToken(9));
  CHECK_FALSE(only<Granted>(d.grant(0)));
  const auto granted = only<Granted>(d.grant(1));
  REQUIRE(granted);
  CHECK(granted->fence == FencingToken(9));
}

TEST_CASE("a raise that a server cannot carry out does not count") {
  LeaseDriver d(lease_config(2));
  d.begin();
  d.grant(0, 5);
  d.grant(1, 9);
  CHECK_FALSE(only<Granted>(d.grant(0, 9, false)));
  CHECK(d.lease.state() == Lease::State::clearing);
}

TEST_CASE("giving back while waiting withdraws what may have been stored and reports it") {
  LeaseDriver d(lease_config(1, Duration::infinite()));
  d.begin();
  d.step(core::GiveBack{ms(1000)});
  CHECK(d.unanswered(0) == 2);
  d.grant(0);
  const auto released = only<core::Released>(d.say(0, Answer::granted));
  REQUIRE(released);
  CHECK(released->everywhere);
  CHECK(d.lease.state() == Lease::State::ended);
}

}  // namespace
}  // namespace redlock::test
