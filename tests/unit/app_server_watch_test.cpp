#include "app/server_watch.h"

#include "support/lease_driver.h"

TEST_SUITE_BEGIN("app.server_watch");

namespace redlock::test {
namespace {

using app::list_advice;
using app::ServerWatch;
using core::Answer;
using Lines = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Lines names(std::size_t count) {
  Lines all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("server" + std::to_string(i));
  return all;
}

TEST_CASE("an even number of servers is advised against, an odd one is not") {
  for (const std::size_t odd : {std::size_t{1}, std::size_t{3}, std::size_t{5}}) {
    CHECK(list_advice(odd).empty());
  }
  CHECK(contains(list_advice(2), "list 1 or 3"));
  CHECK(contains(list_advice(4), "4 servers bear the loss of 1, as 3 would"));
  CHECK(contains(list_advice(6), "6 servers bear the loss of 2, as 5 would"));
}

TEST_CASE("as long as all answer in time there is nothing to say") {
  LeaseDriver d(lease_config(3));
  ServerWatch watch(d.lease, names(3));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  CHECK(watch.due(d.now, false).empty());
  CHECK(watch.wakeup().is_never());
  d.wake();
  for (std::size_t i = 0; i < 3; ++i) {
    d.now = d.now + ms(40);
    d.grant(i);
  }
  CHECK(watch.due(d.now, true).empty());
}

TEST_CASE("a missing minority is said once a run, with the reason, after the node timeout") {
  LeaseDriver d(lease_config(5));
  ServerWatch watch(d.lease, names(5));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.say(3, Answer::unknown);
  CHECK(watch.due(d.now, false).empty());
  CHECK(watch.wakeup() == kStart + ms(150));
  const Lines lines = watch.due(kStart + ms(150), false);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "2 of 5 servers are missing"));
  CHECK(contains(lines[0], "server3: test"));
  CHECK(contains(lines[0], "server4: no answer"));
  CHECK(contains(lines[0], "enough"));
  CHECK(watch.due(kStart + ms(900), false).empty());
  CHECK(watch.due(kStart + ms(900), true).empty());
  CHECK(watch.wakeup().is_never());
}

TEST_CASE("when one is due, another whose error is known stands in the same line") {
  LeaseDriver d(lease_config(5));
  ServerWatch watch(d.lease, names(5));
  d.begin();
  for (std::size_t i = 0; i < 5; ++i) d.grant(i);
  d.now = d.now + ms(100);
  d.link(3, false);
  while (!d.asked(3)) d.wake();
  d.say(3, Answer::unknown);
  const TimePoint first = d.now;
  d.link(4, false);
  while (!d.asked(4)) {
    d.wake();
    if (d.asked(3)) d.say(3, Answer::unknown);
  }
  d.say(4, Answer::unknown);
  const Lines lines = watch.due(first + ms(150), false);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "2 of 5 servers are missing: server3: test; server4: test"));
}

TEST_CASE("an error that is known at the end of a short run is said, mere silence is not") {
  LeaseDriver d(lease_config(3));
  ServerWatch watch(d.lease, names(3));
  d.begin();
  d.grant(0);
  d.grant(1);
  CHECK(watch.due(d.now, true).empty());
  d.say(2, Answer::unknown);
  const Lines lines = watch.due(d.now, true);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "1 of 3 servers is missing"));
}

TEST_CASE("a release that is not answered yet makes nobody a missing server") {
  LeaseDriver d(lease_config(3));
  ServerWatch watch(d.lease, names(3));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.now = d.now + ms(500);
  d.step(core::GiveBack{ms(2000)});
  d.say(0, Answer::granted);
  d.say(1, Answer::granted);
  d.after(ms(200));
  CHECK(watch.due(d.now, true).empty());
}

TEST_CASE("when the majority is missing the line says how long the lease lasts") {
  LeaseDriver d(lease_config(3));
  ServerWatch watch(d.lease, names(3));
  d.begin();
  for (std::size_t i = 0; i < 3; ++i) d.grant(i);
  d.wake();
  d.grant(0);
  const Lines lines = watch.due(d.now + ms(150), false);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "the lease ends in 1.8s unless they come back"));
}

TEST_CASE("of one server nothing is said: a loss has its own line") {
  LeaseDriver d(lease_config());
  ServerWatch watch(d.lease, names(1));
  d.begin();
  d.grant(0);
  d.wake();
  CHECK(watch.due(d.now + ms(5000), true).empty());
  CHECK(watch.wakeup().is_never());
}

TEST_CASE("a twin found late and hidden uptimes are said once") {
  LeaseDriver d(lease_config(3));
  ServerWatch watch(d.lease, names(3));
  d.begin();
  core::Outcome outcome;
  outcome.answer = Answer::granted;
  outcome.server = "one";
  d.answer(0, outcome);
  outcome.server.clear();
  outcome.uptime_hidden = true;
  d.answer(1, outcome);
  d.after_stragglers();
  outcome.server = "one";
  outcome.uptime_hidden = false;
  d.answer(2, outcome);
  const Lines lines = watch.due(d.now, false);
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], "INFO is refused by server1"));
  CHECK(contains(lines[0], "+info"));
  CHECK(contains(lines[1], "server0 and server2 are the same server"));
  CHECK(watch.due(d.now, true).empty());
}

}  // namespace
}  // namespace redlock::test
