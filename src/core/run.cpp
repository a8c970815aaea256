#include "core/run.h"

#include <algorithm>
#include <utility>

namespace redlock::core {
namespace {

template <class T, class Variant>
struct IsOneOf;
template <class T, class... Types>
struct IsOneOf<T, std::variant<Types...>> : std::bool_constant<(std::is_same_v<T, Types> || ...)> {
};
template <class T, class Variant>
constexpr bool is_one_of = IsOneOf<T, Variant>::value;

}  // namespace

Run::Run(const RunConfig& config, const Draw& draw)
    : lease_(config.lease, draw), supervision_(config.supervision) {}

RunEffects Run::step(TimePoint now, const RunInput& input) {
  now_ = now;
  effects_.clear();
  std::visit(
      [this](const auto& what) {
        using T = std::decay_t<decltype(what)>;
        if constexpr (is_one_of<T, LeaseInput>) feed_lease(what);
        if constexpr (is_one_of<T, SupervisionInput>) feed_supervision(what);
      },
      input);
  return std::exchange(effects_, {});
}

void Run::feed_lease(const LeaseInput& input) {
  for (const LeaseEffect& effect : lease_.step(now_, input)) {
    std::visit(
        [this](const auto& what) {
          using T = std::decay_t<decltype(what)>;
          effects_.emplace_back(what);
          if constexpr (is_one_of<T, SupervisionInput>) feed_supervision(what);
        },
        effect);
  }
}

void Run::feed_supervision(const SupervisionInput& input) {
  for (const SupervisionEffect& effect : supervision_.step(now_, input)) {
    std::visit(
        [this](const auto& what) {
          using T = std::decay_t<decltype(what)>;
          if constexpr (is_one_of<T, LeaseInput>) {
            feed_lease(what);
          } else {
            effects_.emplace_back(what);
          }
        },
        effect);
  }
}

TimePoint Run::wakeup() const {
  return std::min(lease_.wakeup(), supervision_.wakeup());
}

}  // namespace redlock::core
