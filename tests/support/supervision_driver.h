// Drives a Supervision by hand: inputs at chosen times, effects as words. Used by its tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "core/supervision.h"

namespace redlock::core {

inline Duration ms(std::int64_t n) {
  return Duration::milliseconds(n);
}

inline constexpr TimePoint kT0 = TimePoint::from_ns(1'000'000'000'000);
inline constexpr TimePoint kValid = kT0 + Duration::seconds(20);

using State = Supervision::State;

inline SupervisionConfig config() {
  return {.timing = Timing::for_ttl(Duration::seconds(30))};
}

template <class T>
const T* find(const SupervisionEffects& effects) {
  for (const SupervisionEffect& effect : effects) {
    if (const T* one = std::get_if<T>(&effect)) return one;
  }
  return nullptr;
}

/// A supervision and a clock.
struct Driver {
  explicit Driver(const SupervisionConfig& c = config()) : s(c) {}
  SupervisionEffects step(const SupervisionInput& input) { return s.step(now, input); }
  SupervisionEffects after(Duration span) {
    now = now + span;
    return step(Tick{});
  }

  Supervision s;
  TimePoint now = kT0;
};

inline Granted granted() {
  return {.attempt = Attempt(1), .valid_until = kValid, .fence = FencingToken(9)};
}

inline Driver running(const SupervisionConfig& c = config()) {
  Driver d(c);
  static_cast<void>(d.step(granted()));
  static_cast<void>(d.step(Started{}));
  return d;
}

inline Driver in_state(State state) {
  Driver d = running();
  switch (state) {
    case State::waiting:
      return Driver();
    case State::running:
      break;
    case State::stopping:
      static_cast<void>(d.step(Fenced{}));
      break;
    case State::killing:
      static_cast<void>(d.step(GuardDied{}));
      break;
    case State::releasing:
      static_cast<void>(d.step(CommandEnded{{.value = 3}}));
      static_cast<void>(d.step(JobOver{}));
      break;
    case State::done:
      static_cast<void>(d.step(CommandEnded{{.value = 3}}));
      static_cast<void>(d.step(JobOver{}));
      static_cast<void>(d.step(Released{}));
      break;
  }
  REQUIRE(d.s.state() == state);
  return d;
}

/// What a step does, as one word for each effect.
inline std::string words(const SupervisionEffects& effects) {
  std::string text;
  for (const SupervisionEffect& effect : effects) {
    static const char* const kNames[] = {"spawn",   "publish", "stop", "forward", "guard", "kill",
                                         "suspend", "again",   "give", "abandon", "finish"};
    if (!text.empty()) text += ' ';
    text += kNames[effect.index()];
  }
  return text;
}

}  // namespace redlock::core
