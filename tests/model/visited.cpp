#include <algorithm>

#include "model/search.h"

namespace redlock::model {

Visited::Visited() : slots_(std::size_t{1} << 16) {}

std::size_t Visited::slot_of(const Fingerprint& state) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = state.low & mask;
  while (slots_[slot] != 0 && entries_[slots_[slot] - 1].state != state) slot = (slot + 1) & mask;
  return slot;
}

std::optional<std::uint32_t> Visited::find(const Fingerprint& state) const {
  const std::uint32_t number = slots_[slot_of(state)];
  return number == 0 ? std::nullopt : std::optional(number - 1);
}

std::optional<std::uint32_t> Visited::add(const Fingerprint& state, std::uint32_t from, Action by) {
  std::size_t slot = slot_of(state);
  if (slots_[slot] != 0) return std::nullopt;
  if ((entries_.size() + 1) * 3 > slots_.size() * 2) {
    grow();
    slot = slot_of(state);
  }
  entries_.push_back({state, from, by});
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return slots_[slot] - 1;
}

void Visited::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    slots_[slot_of(entries_[i].state)] = static_cast<std::uint32_t>(i + 1);
  }
}

std::vector<Action> Visited::way_to(std::uint32_t number) const {
  std::vector<Action> way;
  for (; number != 0; number = entries_[number].from) way.push_back(entries_[number].by);
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace redlock::model
