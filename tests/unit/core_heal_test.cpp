// Healing: a key that a server lost, or never had, goes (back) there, and only when that is safe.
#include "support/lease_driver.h"

TEST_SUITE_BEGIN("core.heal");

namespace redlock::test {
namespace {

using core::Answer;
using core::Extended;
using core::Granted;
using core::Lease;
using core::Loss;
using core::Lost;
using core::RequestKind;

/// Held by all of `nodes` servers, with the first round of renewals just sent.
void hold_and_wake(LeaseDriver& d, std::size_t nodes) {
  d.begin();
  for (std::size_t i = 0; i < nodes; ++i) d.grant(i);
  REQUIRE(d.lease.state() == Lease::State::held);
  d.wake();
}

bool asked_to(const LeaseDriver& d, std::size_t node, RequestKind kind) {
  return d.asked(node) && d.asked(node)->kind == kind;
}

TEST_CASE("a key that is gone goes back as soon as a quorum of others has confirmed the round") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  d.say(0, Answer::gone);
  CHECK_FALSE(d.asked(0));
  d.grant(1);
  CHECK_FALSE(d.asked(0));
  d.grant(2);
  REQUIRE(asked_to(d, 0, RequestKind::heal));
  CHECK(d.asked(0)->attempt == core::Attempt(1));
  CHECK(d.asked(0)->fence == FencingToken(7));
}

TEST_CASE("a healed server counts from when it was asked, and is renewed with the others") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  d.say(0, Answer::gone);
  d.grant(1);
  d.grant(2);
  d.now = d.now + ms(20);
  CHECK_FALSE(only<Lost>(d.grant(0)));
  // Now any one of the three may fail.
  d.now = d.now + ms(980);
  d.tick();
  CHECK(asked_to(d, 0, RequestKind::renew));
  d.grant(0);
  d.grant(1);
  CHECK(d.lease.valid_until() == kStart + ms(2000 + 3000 - 32));
}

TEST_CASE("without a quorum of confirmations nothing goes back") {
  LeaseDriver d(lease_config(5));
  hold_and_wake(d, 5);
  d.say(0, Answer::gone);
  d.say(1, Answer::gone);
  d.grant(2);
  d.grant(3);
  d.say(4, Answer::unknown);
  CHECK_FALSE(d.asked(0));
  CHECK_FALSE(d.asked(1));
  // The third confirmation comes with the retry, in the same round.
  while (!d.asked(4)) d.wake();
  d.grant(4);
  CHECK(asked_to(d, 0, RequestKind::heal));
  CHECK(asked_to(d, 1, RequestKind::heal));
}

TEST_CASE("one of two servers, or the only one, can never be healed") {
  for (const std::size_t nodes : {std::size_t{1}, std::size_t{2}}) {
    LeaseDriver d(lease_config(nodes));
    hold_and_wake(d, nodes);
    const auto lost = only<Lost>(d.say(0, Answer::gone));
    REQUIRE(lost);
    CHECK(lost->why == Loss::gone);
  }
}

TEST_CASE("confirmations from before the loss was found do not count: a round begins early") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  // The connection breaks long before the next round; the server has forgotten the key.
  d.now = d.now + ms(400);
  d.link(0, false);
  d.wake();
  REQUIRE(asked_to(d, 0, RequestKind::renew));
  CHECK(d.now - kStart < ms(2000));
  d.link(0, true);
  d.say(0, Answer::gone);
  CHECK_FALSE(d.asked(0));
  CHECK(asked_to(d, 1, RequestKind::renew));
  CHECK(asked_to(d, 2, RequestKind::renew));
  d.grant(1);
  d.grant(2);
  CHECK(asked_to(d, 0, RequestKind::heal));
}

TEST_CASE("servers that forget one after the other cost nothing; a majority at once is a loss") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  for (std::size_t victim = 0; victim < 3; ++victim) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != victim) d.grant(i);
    }
    d.say(victim, Answer::gone);
    REQUIRE(asked_to(d, victim, RequestKind::heal));
    d.grant(victim);
    CHECK(d.lease.state() == Lease::State::held);
    d.wake();
  }
  d.say(0, Answer::gone);
  const auto lost = only<Lost>(d.say(1, Answer::gone));
  REQUIRE(lost);
  CHECK(lost->why == Loss::gone);
}

TEST_CASE("a key that became somebody else's is never overwritten, only asked for again") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  d.say(0, Answer::foreign);
  d.grant(1);
  d.grant(2);
  // The heal takes a free key only; here it finds the other one still there.
  REQUIRE(asked_to(d, 0, RequestKind::heal));
  CHECK_FALSE(only<Lost>(d.held(0, ms(5000))));
  CHECK_FALSE(d.asked(0));
  // Soon again, and less and less often; what the others confirmed in this round is good for that.
  d.wake();
  CHECK(asked_to(d, 0, RequestKind::heal));
  d.grant(0);
  CHECK(d.lease.state() == Lease::State::held);
}

TEST_CASE("servers that were held or failed at the acquisition are asked soon, unconfirmed") {
  LeaseDriver d(lease_config(5));
  d.begin();
  d.held(3, ms(100));
  d.say(4, Answer::failed);
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  REQUIRE(d.lease.state() == Lease::State::held);
  while (!d.asked(3) || !d.asked(4)) d.wake();
  CHECK(d.now - kStart <= ms(300));
  CHECK(asked_to(d, 3, RequestKind::acquire));
  CHECK(asked_to(d, 4, RequestKind::acquire));
  // The rival's has a while to go: not once a pause, but not only once a round either.
  std::size_t tries = 0;
  d.say(4, Answer::failed);
  while (d.now - kStart < ms(950)) {
    if (d.asked(3)) {
      ++tries;
      d.held(3, ms(5000));
    }
    if (d.asked(4)) d.grant(4);
    d.wake();
  }
  CHECK(tries >= 2);
  CHECK(tries <= 6);
}

TEST_CASE("of a bare quorum one may fall away once a server that was held has been taken") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.held(2, ms(100));
  d.grant(0);
  d.grant(1);
  d.wake();
  d.grant(2);
  d.link(1, false);
  for (int i = 0; i < 200; ++i) {
    d.wake();
    for (const std::size_t alive : {std::size_t{0}, std::size_t{2}}) {
      if (d.asked(alive)) d.grant(alive);
    }
    if (d.asked(1)) d.say(1, Answer::unknown);
    REQUIRE(d.lease.state() == Lease::State::held);
  }
}

TEST_CASE("a grant that counts from before this round is renewed at once") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.grant(0);
  d.grant(1);
  d.after_stragglers();
  REQUIRE(d.lease.state() == Lease::State::held);
  d.wake();
  d.grant(0);
  d.grant(1);
  d.grant(2);
  CHECK(asked_to(d, 2, RequestKind::renew));
}

TEST_CASE("while a server is silent the others' renewals and its late answer go on as ever") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  d.grant(1);
  d.grant(2);
  d.wake();
  CHECK(d.unanswered(0) == 1);
  d.grant(1);
  d.grant(2);
  // The late answer says gone: found missing by an old question, confirmed since.
  d.say(0, Answer::gone);
  CHECK(asked_to(d, 0, RequestKind::heal));
}

TEST_CASE("a server that stays away is asked less and less, once a round in the end") {
  LeaseDriver d(lease_config(3));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  const TimePoint start = d.now;
  std::size_t tries = 0;
  while (d.now - start < Duration::seconds(60)) {
    d.wake();
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (d.asked(i)) d.grant(i);
    }
    if (d.asked(0)) {
      ++tries;
      d.say(0, Answer::unknown);
    }
    REQUIRE(d.lease.state() == Lease::State::held);
  }
  CHECK(tries >= 59);
  CHECK(tries <= 75);
}

TEST_CASE("where only a bare quorum ever held, one key less is a loss at once") {
  LeaseDriver d(lease_config(5));
  d.begin();
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) d.say(i, Answer::failed);
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  REQUIRE(d.lease.state() == Lease::State::held);
  while (!asked_to(d, 0, RequestKind::renew)) {
    d.wake();
    for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
      if (d.asked(i)) d.say(i, Answer::failed);
    }
  }
  const auto lost = only<Lost>(d.say(0, Answer::gone));
  REQUIRE(lost);
  // Not "expired": its deadlines, which the guard watches, lie ahead still and have to move.
  CHECK(lost->why == Loss::gone);
}

TEST_CASE("an expired lease is not revived by a renewal that is answered too late") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  d.now = kStart + ms(3000 - 32);
  const auto effects = d.grant(0);
  const auto lost = only<Lost>(effects);
  REQUIRE(lost);
  CHECK(lost->why == Loss::expired);
  CHECK_FALSE(only<Extended>(d.grant(1)));
  CHECK(d.lease.state() == Lease::State::lost);
}

TEST_CASE("a young server is healed whatever its age, but only with confirmations") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.say(0, Answer::young);
  d.grant(1);
  REQUIRE(only<Granted>(d.grant(2)));
  while (!d.asked(1)) d.wake();
  CHECK_FALSE(d.asked(0));
  d.grant(1);
  d.grant(2);
  CHECK(asked_to(d, 0, RequestKind::heal));
}

TEST_CASE("a server that forgot a rival's vote meanwhile is young, and is not taken unconfirmed") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.held(0, ms(5000));  // a rival's
  d.grant(1);
  REQUIRE(only<Granted>(d.grant(2)));
  d.wake();
  // Not a heal: it restarts before it is asked, and refuses for its youth.
  REQUIRE(asked_to(d, 0, RequestKind::acquire));
  d.say(0, Answer::young);
  CHECK_FALSE(asked_to(d, 0, RequestKind::heal));
  while (!d.asked(1)) d.wake();
  d.grant(1);
  CHECK_FALSE(d.asked(0));
  d.grant(2);
  CHECK(asked_to(d, 0, RequestKind::heal));
}

TEST_CASE("without a connection a server that lost the key is asked what it has, not healed") {
  LeaseDriver d(lease_config(3));
  hold_and_wake(d, 3);
  d.say(0, Answer::gone);
  d.link(0, false);
  d.grant(1);
  d.grant(2);
  CHECK(asked_to(d, 0, RequestKind::renew));
}

}  // namespace
}  // namespace redlock::test
