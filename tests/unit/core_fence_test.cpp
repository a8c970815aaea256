#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/fence.h"

namespace redlock::core {
namespace {

Duration ms(std::int64_t n) {
  return Duration::milliseconds(n);
}

constexpr TimePoint kT0 = TimePoint::from_ns(1'000'000'000'000);
const Deadlines kLater{.stop = kT0 + Duration::seconds(10), .kill = kT0 + Duration::seconds(12)};

using Effects = FenceEffects;
using E = FenceEffect;

Fence fence() {
  return Fence(ms(500), ms(2000));
}

TEST_CASE("nothing happens before the stop line") {
  Fence f = fence();
  CHECK(f.step(kT0, GuardTick{kLater}).empty());
  CHECK(f.wakeup(kLater) == kLater.stop);
  CHECK(f.step(kLater.stop - Duration::nanoseconds(1), GuardTick{kLater}).empty());
}

TEST_CASE(
    "at the stop line everything is signalled once, at the kill line killed until it is gone") {
  Fence f = fence();
  CHECK(f.step(kLater.stop, GuardTick{kLater}) == Effects{E::report_fenced, E::signal_tree});
  CHECK(f.step(kLater.stop + ms(1), GuardTick{kLater}).empty());
  CHECK(f.wakeup(kLater) == kLater.kill);
  CHECK(f.step(kLater.kill, GuardTick{kLater}) == Effects{E::kill_tree});
  TimePoint now = kLater.kill;
  for (int round = 0; round < 100; ++round) {
    now = f.wakeup(kLater);
    CHECK(f.step(now, GuardTick{kLater}) == Effects{E::kill_tree});
  }
  CHECK(f.step(now, Census{true, true, true}) == Effects{E::finish});
  CHECK(f.wakeup(kLater).is_never());
}

TEST_CASE("a guard that wakes after the kill line kills at once") {
  Fence f = fence();
  CHECK(f.step(kLater.kill + ms(5), GuardTick{kLater}) == Effects{E::report_fenced, E::kill_tree});
}

TEST_CASE("once fenced, later deadlines change nothing and COMMAND's own end is not enough") {
  Fence f = fence();
  static_cast<void>(f.step(kLater.stop, GuardTick{kLater}));
  const Deadlines renewed{.stop = kLater.stop + Duration::seconds(60),
                          .kill = kLater.kill + Duration::seconds(60)};
  CHECK(f.step(kLater.stop + ms(1), Census{true, true, false}).empty());
  CHECK(f.wakeup(renewed) == kLater.kill);
  CHECK(f.step(kLater.kill, GuardTick{renewed}) == Effects{E::kill_tree});
}

TEST_CASE("a nearer kill line counts even while a longer grace is running") {
  Fence f = fence();
  CHECK(f.step(kT0, StopJob{.kill = kT0 + Duration::seconds(30)}) == Effects{E::signal_job});
  CHECK(f.wakeup(kLater) == kLater.stop);
  CHECK(f.step(kLater.stop, GuardTick{kLater}) == Effects{E::report_fenced, E::signal_tree});
  CHECK(f.step(kLater.kill, GuardTick{kLater}) == Effects{E::kill_tree});
}

TEST_CASE("a job that is told to stop is killed after its grace and needs an empty tree") {
  Fence f = fence();
  CHECK(f.step(kT0, StopJob{.kill = kT0 + ms(300)}) == Effects{E::signal_job});
  CHECK(f.step(kT0 + ms(100), Census{true, true, false}).empty());
  CHECK(f.step(kT0 + ms(300), GuardTick{kLater}) == Effects{E::kill_tree});
  CHECK_FALSE(f.fenced());
}

TEST_CASE("without a grace there is no signal before SIGKILL") {
  Fence f(Duration(), ms(2000));
  CHECK(f.step(kT0, StopJob{.kill = kT0}).empty());
  CHECK(f.step(kT0, GuardTick{kLater}) == Effects{E::kill_tree});
  Fence gone(Duration(), ms(2000));
  CHECK(gone.step(kT0, FrontGone{}).empty());
  CHECK(gone.step(kT0, GuardTick{kLater}) == Effects{E::kill_tree});
}

TEST_CASE("a grace that only follows a passed-on signal does not signal again") {
  Fence f = fence();
  CHECK(f.step(kT0, StopJob{.kill = kT0 + ms(300), .signal_job = false}).empty());
  CHECK(f.step(kT0 + ms(300), GuardTick{kLater}) == Effects{E::kill_tree});
}

TEST_CASE(
    "when the front is gone everything is signalled and killed by the earlier of grace and lease") {
  SUBCASE("grace") {
    Fence f = fence();
    CHECK(f.step(kT0, FrontGone{}) == Effects{E::signal_tree});
    CHECK(f.wakeup(kLater) == kT0 + ms(500));
    CHECK(f.step(kT0 + ms(500), GuardTick{kLater}) == Effects{E::kill_tree});
  }
  SUBCASE("lease") {
    Fence f = fence();
    const Deadlines soon{.stop = kT0 + ms(100), .kill = kT0 + ms(200)};
    CHECK(f.step(kT0, FrontGone{}) == Effects{E::signal_tree});
    CHECK(f.step(kT0 + ms(100), GuardTick{soon}) == Effects{E::report_fenced, E::signal_tree});
    CHECK(f.step(kT0 + ms(200), GuardTick{soon}) == Effects{E::kill_tree});
  }
}

TEST_CASE("a normal end waits for the job, not for what left it") {
  Fence f = fence();
  CHECK(f.step(kT0, Census{false, false, false}).empty());
  CHECK(f.step(kT0, Census{true, false, false}).empty());
  CHECK(f.step(kT0, Census{true, true, false}) == Effects{E::finish});
}

TEST_CASE("what survives SIGKILL is reported once its time is up, and the fence is over") {
  Fence f = fence();
  static_cast<void>(f.step(kLater.kill, GuardTick{kLater}));
  const TimePoint limit = kLater.kill + ms(2000);
  CHECK(f.step(limit - ms(1), GuardTick{kLater}) == Effects{E::kill_tree});
  CHECK(f.step(limit, GuardTick{kLater}) == Effects{E::report_unkillable});
  CHECK(f.state() == Fence::State::over);
}

/// Every state and every input: what must never happen, whatever happened before.
TEST_CASE("in every state every input keeps the promises of the fence") {
  const auto prepared = [](Fence::State state) {
    Fence f = fence();
    switch (state) {
      case Fence::State::guarding:
        break;
      case Fence::State::stopping:
        static_cast<void>(f.step(kT0, StopJob{.kill = kT0 + Duration::seconds(5)}));
        break;
      case Fence::State::killing:
        static_cast<void>(f.step(kT0, GuardTick{{.stop = kT0, .kill = kT0}}));
        break;
      case Fence::State::over:
        static_cast<void>(f.step(kT0, Census{true, true, true}));
        break;
    }
    REQUIRE(f.state() == state);
    return f;
  };
  const std::vector<FenceInput> inputs = {GuardTick{kLater},
                                          GuardTick{{.stop = kT0, .kill = kT0 + ms(1)}},
                                          GuardTick{{.stop = kT0, .kill = kT0}},
                                          StopJob{.kill = kT0 + ms(10)},
                                          FrontGone{},
                                          Census{false, false, false},
                                          Census{true, false, false},
                                          Census{true, true, false},
                                          Census{true, true, true}};
  using S = Fence::State;
  // Rows: guarding, stopping, killing, over. What each input leads to.
  const std::vector<std::vector<S>> after = {
      {S::guarding, S::stopping, S::killing, S::stopping, S::stopping, S::guarding, S::guarding,
       S::over, S::over},
      {S::stopping, S::stopping, S::killing, S::stopping, S::stopping, S::stopping, S::stopping,
       S::stopping, S::over},
      {S::killing, S::killing, S::killing, S::killing, S::killing, S::killing, S::killing,
       S::killing, S::over},
      {S::over, S::over, S::over, S::over, S::over, S::over, S::over, S::over, S::over}};
  const std::vector<S> states = {S::guarding, S::stopping, S::killing, S::over};
  for (std::size_t s = 0; s < states.size(); ++s) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CAPTURE(s);
      CAPTURE(i);
      Fence f = prepared(states[s]);
      const Effects effects = f.step(kT0, inputs[i]);
      CHECK(f.state() == after[s][i]);
      if (states[s] == S::over) CHECK(effects.empty());
      const bool finished = std::count(effects.begin(), effects.end(), E::finish) > 0;
      CHECK(finished == (states[s] != S::over && f.state() == S::over));
    }
  }
}

}  // namespace
}  // namespace redlock::core
