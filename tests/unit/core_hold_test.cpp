#include "support/lease_driver.h"

namespace redlock::test {
namespace {

using core::Answer;
using core::Extended;
using core::Lease;
using core::Loss;
using core::Lost;
using core::Released;
using core::RequestKind;

/// A lease over `nodes` servers, granted by all of them at kStart.
LeaseDriver held_lease(std::size_t nodes = 1) {
  LeaseDriver d(lease_config(nodes));
  d.begin();
  for (std::size_t i = 0; i < nodes; ++i) d.grant(i);
  REQUIRE(d.lease.state() == Lease::State::held);
  return d;
}

TEST_CASE("renewals go out every third of the ttl, to all servers at once") {
  for (const std::size_t nodes : {1U, 3U, 5U}) {
    LeaseDriver d(lease_config(nodes));
    d.begin();
    for (std::size_t i = 0; i < nodes; ++i) d.grant(i);
    for (int round = 1; round <= 4; ++round) {
      d.wake();
      CHECK(d.now == kStart + ms(1000) * round);
      for (std::size_t i = 0; i < nodes; ++i) {
        REQUIRE(d.asked(i));
        CHECK(d.asked(i)->kind == RequestKind::renew);
        d.grant(i);
      }
    }
    CHECK(d.lease.valid_until() == d.now + ms(3000 - 32));
  }
}

TEST_CASE("a renewal extends from when it was sent, even if its answer is late") {
  LeaseDriver d(lease_config());
  d.begin();
  d.grant(0);
  d.wake();
  const TimePoint sent = d.now;
  d.now = d.now + ms(1500);
  const auto extended = only<Extended>(d.grant(0));
  REQUIRE(extended);
  CHECK(extended->valid_until == sent + ms(3000 - 32));
}

TEST_CASE("a failed renewal is no loss: it is tried again soon, at random, until validity ends") {
  LeaseDriver d(lease_config());
  d.begin();
  d.grant(0);
  d.wake();
  std::optional<Lost> lost;
  int tries = 0;
  while (!lost && tries < 1000) {
    if (d.asked(0)) {
      ++tries;
      lost = only<Lost>(d.say(0, tries % 2 == 0 ? Answer::failed : Answer::unknown));
      if (!lost) {
        const TimePoint before = d.now;
        lost = only<Lost>(d.wake());
        CHECK(d.now - before >= ms(60));
        CHECK(d.now - before <= ms(300));
      }
    } else {
      lost = only<Lost>(d.wake());
    }
  }
  REQUIRE(lost);
  CHECK(lost->why == Loss::expired);
  CHECK(d.now == kStart + ms(3000 - 32));
  CHECK(tries > 5);
}

TEST_CASE("a server that does not answer a renewal is not asked again until it does") {
  LeaseDriver d(lease_config());
  d.begin();
  d.grant(0);
  d.wake();
  const auto lost = only<Lost>(d.wake());
  REQUIRE(lost);
  CHECK(d.now == kStart + ms(3000 - 32));
  CHECK(d.unanswered(0) == 1);
}

TEST_CASE("a renewal answered after several were due is followed by the next one at once") {
  LeaseDriver d(lease_config());
  d.begin();
  d.grant(0);
  d.wake();
  d.now = d.now + ms(1100);
  const auto effects = d.grant(0);
  CHECK(only<Extended>(effects));
  CHECK(only<core::Send>(effects));
}

TEST_CASE("a foreign or missing key is a loss at once, and the key is not touched again") {
  for (const auto& [answer, why] :
       {std::pair{Answer::foreign, Loss::foreign}, std::pair{Answer::gone, Loss::gone}}) {
    LeaseDriver d(lease_config());
    d.begin();
    d.grant(0);
    d.wake();
    const auto lost = only<Lost>(d.say(0, answer));
    REQUIRE(lost);
    CHECK(lost->why == why);
    const auto released = only<Released>(d.step(core::GiveBack{ms(1000)}));
    REQUIRE(released);
    CHECK(d.sent.back().request.kind == RequestKind::renew);
  }
}

TEST_CASE("after a loss nothing extends the lease any more") {
  LeaseDriver d(lease_config());
  d.begin();
  d.grant(0);
  d.wake();
  REQUIRE(only<Lost>(d.wake()));
  const auto effects = d.grant(0);
  CHECK_FALSE(only<Extended>(effects));
  CHECK(d.lease.state() == Lease::State::lost);
  CHECK(d.lease.wakeup().is_never());
}

TEST_CASE("when the wall clock jumped ahead the servers are asked at once, and decide") {
  for (const Answer answer : {Answer::granted, Answer::foreign}) {
    LeaseDriver d(lease_config());
    d.begin();
    d.grant(0);
    d.now = d.now + ms(50);
    d.step(core::TimeSlipped{Duration::seconds(3600)});
    REQUIRE(d.asked(0));
    CHECK(d.asked(0)->kind == RequestKind::renew);
    CHECK(d.lease.state() == Lease::State::held);
    d.say(0, answer);
    const bool kept = answer == Answer::granted;
    CHECK(d.lease.state() == (kept ? Lease::State::held : Lease::State::lost));
    if (kept) CHECK(d.lease.valid_until() == kStart + ms(50 + 3000 - 32));
  }
}

TEST_CASE("a renewal that was under way when the wall clock jumped counts from as much earlier") {
  LeaseDriver d(lease_config());
  d.begin();
  d.grant(0);
  d.wake();
  d.step(core::TimeSlipped{ms(400)});
  d.grant(0);
  CHECK(d.lease.valid_until() == kStart + ms(1000 - 400 + 3000 - 32));
}

TEST_CASE("losing a minority of the servers is not a loss") {
  LeaseDriver d(lease_config(5));
  d.begin();
  for (std::size_t i = 0; i < 5; ++i) d.grant(i);
  d.wake();
  CHECK_FALSE(only<Lost>(d.say(0, Answer::gone)));
  CHECK_FALSE(only<Lost>(d.say(1, Answer::foreign)));
  for (std::size_t i = 2; i < 5; ++i) d.grant(i);
  CHECK(d.lease.valid_until() == d.now + ms(3000 - 32));
}

TEST_CASE("as soon as no quorum can be ours any more the lease is lost") {
  LeaseDriver d(lease_config(5));
  d.begin();
  for (std::size_t i = 0; i < 5; ++i) d.grant(i);
  d.wake();
  d.say(0, Answer::gone);
  d.say(1, Answer::gone);
  const auto lost = only<Lost>(d.say(2, Answer::foreign));
  REQUIRE(lost);
  CHECK(lost->why == Loss::foreign);
}

TEST_CASE("with answers from changing majorities the lease lives on the Q-th largest end") {
  LeaseDriver d(lease_config(3));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.wake();
  d.grant(0);
  // Only one server was renewed: the second largest end is still the old one.
  CHECK(d.lease.valid_until() == kStart + ms(3000 - 32));
  d.now = d.now + ms(10);
  d.grant(2);
  CHECK(d.lease.valid_until() == kStart + ms(4000 - 32));
}

TEST_CASE("a server that granted too late for the attempt is renewed with the others") {
  LeaseDriver d(lease_config(3));
  d.begin();
  d.grant(0);
  d.grant(1);
  d.after_stragglers();
  REQUIRE(d.lease.state() == Lease::State::held);
  d.now = d.now + ms(300);
  d.grant(2, 3);
  d.wake();
  REQUIRE(d.asked(2));
  CHECK(d.asked(2)->kind == RequestKind::renew);
  CHECK(d.asked(2)->fence == FencingToken(7));
}

TEST_CASE("release is sent once to every server and ends when all have answered") {
  LeaseDriver d = held_lease(3);
  d.step(core::GiveBack{ms(2000)});
  for (std::size_t i = 0; i < 3; ++i) CHECK(d.asked(i)->kind == RequestKind::release);
  d.say(0, Answer::granted);
  d.say(1, Answer::granted);
  const auto released = only<Released>(d.say(2, Answer::granted));
  REQUIRE(released);
  CHECK(released->everywhere);
  CHECK(released->untouched);
}

TEST_CASE("a key that is gone or foreign at the release is said, not repaired") {
  for (const Answer answer : {Answer::gone, Answer::foreign}) {
    LeaseDriver d = held_lease();
    d.step(core::GiveBack{ms(2000)});
    const auto released = only<Released>(d.say(0, answer));
    REQUIRE(released);
    CHECK_FALSE(released->untouched);
    CHECK(released->everywhere);
  }
}

TEST_CASE("a release whose connection broke is repeated; one that is refused is not") {
  LeaseDriver d = held_lease();
  d.step(core::GiveBack{ms(2000)});
  SUBCASE("broken") {
    CHECK_FALSE(only<Released>(d.say(0, Answer::unknown)));
    d.wake();
    REQUIRE(d.asked(0));
    CHECK(d.asked(0)->kind == RequestKind::release);
    CHECK(only<Released>(d.say(0, Answer::granted))->everywhere);
  }
  SUBCASE("refused") {
    const auto released = only<Released>(d.say(0, Answer::refused));
    REQUIRE(released);
    CHECK_FALSE(released->everywhere);
  }
}

TEST_CASE("a release to silent servers ends at its limit") {
  LeaseDriver d = held_lease();
  d.step(core::GiveBack{ms(2000)});
  CHECK_FALSE(only<Released>(d.after(ms(1999))));
  const auto released = only<Released>(d.after(ms(1)));
  REQUIRE(released);
  CHECK_FALSE(released->everywhere);
}

TEST_CASE("a release is queued behind a renewal that is not answered yet") {
  LeaseDriver d = held_lease();
  d.wake();
  d.step(core::GiveBack{ms(2000)});
  CHECK(d.unanswered(0) == 2);
  d.grant(0);
  CHECK(only<Released>(d.say(0, Answer::granted))->everywhere);
}

TEST_CASE("abandoning ends at once") {
  LeaseDriver d = held_lease();
  d.step(core::GiveBack{ms(2000)});
  const auto released = only<Released>(d.step(core::Abandon{}));
  REQUIRE(released);
  CHECK_FALSE(released->everywhere);
  CHECK(d.lease.state() == Lease::State::ended);
}

TEST_CASE("a job that could not be started in time gives its lease back and begins again") {
  LeaseDriver d = held_lease();
  d.step(core::TryAgain{});
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::release);
  d.say(0, Answer::granted);
  d.wake();
  REQUIRE(d.asked(0));
  CHECK(d.asked(0)->kind == RequestKind::acquire);
  CHECK(d.asked(0)->attempt == core::Attempt(2));
}

TEST_CASE("once ended, every input is ignored") {
  LeaseDriver d = held_lease();
  d.step(core::GiveBack{ms(2000)});
  d.say(0, Answer::granted);
  REQUIRE(d.lease.state() == Lease::State::ended);
  CHECK(d.tick().empty());
  CHECK(d.link(0, false).empty());
  CHECK(d.step(core::GiveBack{ms(1)}).empty());
  CHECK(d.step(core::Abandon{}).empty());
  CHECK(d.lease.wakeup().is_never());
}

}  // namespace
}  // namespace redlock::test
