#include "sim/link.h"

#include <algorithm>
#include <utility>

#include "sim/host.h"
#include "sim/world.h"

namespace redlock::sim {

Link::Link(World& world, Host& host, std::size_t entry, Node& node)
    : world_(world), host_(host), entry_(entry), node_(node) {}

Duration Link::delay() const {
  const Plan& plan = world_.plan;
  const bool slow = plan.slow_one_in > 0 && !world_.is_calm(node_.index) &&
                    world_.chance.one_in(plan.slow_one_in);
  return world_.chance.up_to(slow ? plan.slow_most : plan.delay_most);
}

// --- the process's side

void Link::send(const Message& message) {
  if (up_) return transmit(message);
  waiting_.push_back(message);
  if (!connecting_) connect();
}

void Link::connect() {
  connecting_ = true;
  const TimePoint deadline = world_.schedule.now() + world_.plan.timing.connect_limit();
  world_.schedule.in(world_.chance.up_to(world_.plan.connect_most),
                     [this, number = ++number_, deadline] { try_connect(number, deadline); });
}

void Link::try_connect(std::uint64_t number, TimePoint deadline) {
  if (number != number_) return;
  if (host_.front.paused()) {
    host_.front.when_awake([this, number, deadline] { try_connect(number, deadline); });
    return;
  }
  const TimePoint free = std::max(silent_there_, silent_back_);
  if (free > world_.schedule.now()) {
    if (deadline <= world_.schedule.now()) return lose();
    world_.schedule.at(std::min(free, deadline),
                       [this, number, deadline] { try_connect(number, deadline); });
    return;
  }
  if (!node_.running()) return lose();
  connecting_ = false;
  up_ = true;
  connections_[number];
  host_.give(core::NodeLink{NodeIndex(entry_), true, host_.reaches_twice(entry_)});
  for (const Message& message : std::exchange(waiting_, {})) transmit(message);
}

void Link::abandon_connection(bool delivers) {
  const auto it = connections_.find(number_);
  if (it == connections_.end()) return;
  it->second.heard = false;
  if (!delivers) it->second.there.clear();
  if (it->second.there.empty()) connections_.erase(it);
}

void Link::close() {
  abandon_connection(true);
  ++number_;
  up_ = connecting_ = watching_ = false;
  waiting_.clear();
  owed_.clear();
}

void Link::lose() {
  world_.note(host_.index, up_ ? "loses the connection to node %n" : "cannot reach node %n",
              node_.index);
  disturbed_ = world_.schedule.now();
  abandon_connection(world_.chance.one_in(2));
  ++number_;
  const bool was_up = std::exchange(up_, false);
  connecting_ = watching_ = false;
  for (const Owed& owed : std::exchange(owed_, {})) {
    host_.give(core::NodeAnswer{NodeIndex(entry_), owed.request, {}});
  }
  for (const Message& message : std::exchange(waiting_, {})) {
    host_.give(core::NodeAnswer{NodeIndex(entry_), message.request.id, {}});
  }
  if (was_up) host_.give(core::NodeLink{NodeIndex(entry_), false});
}

void Link::transmit(const Message& message) {
  owed_.push_back({message.request.id, world_.schedule.now()});
  Connection& connection = connections_.at(number_);
  connection.last_there = std::max(connection.last_there, world_.schedule.now() + delay());
  connection.there.push_back({connection.last_there, message});
  world_.schedule.at(connection.last_there, [this, number = number_] { pump_there(number); });
  if (!std::exchange(watching_, true)) watch(number_);
}

/// As the program does: a connection on which the oldest request stays unanswered is dropped.
void Link::watch(std::uint64_t number) {
  if (number != number_) return;
  if (owed_.empty()) {
    watching_ = false;
    return;
  }
  const TimePoint limit = owed_.front().since + world_.plan.timing.connect_limit();
  if (limit > world_.schedule.now()) {
    world_.schedule.at(limit, [this, number] { watch(number); });
  } else if (host_.front.paused()) {
    host_.front.when_awake([this, number] { watch(number); });
  } else {
    lose();
  }
}

void Link::answer(const Answered& answered) {
  if (!owed_.empty()) owed_.pop_front();
  host_.give(core::NodeAnswer{NodeIndex(entry_), answered.request, answered.outcome});
}

// --- the network

void Link::pump() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, connection] : connections_) numbers.push_back(number);
  for (const std::uint64_t number : numbers) {
    pump_there(number);
    pump_back(number);
  }
}

void Link::pump_there(std::uint64_t number) {
  const auto it = connections_.find(number);
  if (it == connections_.end()) return;
  Connection& connection = it->second;
  const TimePoint now = world_.schedule.now();
  while (!connection.there.empty() && connection.there.front().at <= now) {
    const TimePoint free = std::max(silent_there_, node_.hangs_until());
    if (free > now) {
      if (!free.is_never()) world_.schedule.at(free, [this, number] { pump_there(number); });
      return;
    }
    const Message message = std::move(connection.there.front().message);
    connection.there.pop_front();
    const core::Outcome outcome = node_.execute(message);
    if (!connection.heard) continue;
    connection.last_back = std::max(connection.last_back, now + delay());
    connection.back.push_back({connection.last_back, message.request.id, outcome});
    world_.schedule.at(connection.last_back, [this, number] { pump_back(number); });
  }
  if (!connection.heard && connection.there.empty()) connections_.erase(it);
}

void Link::pump_back(std::uint64_t number) {
  const auto it = connections_.find(number);
  if (it == connections_.end() || !it->second.heard) return;
  Connection& connection = it->second;
  const TimePoint now = world_.schedule.now();
  while (!connection.back.empty() && connection.back.front().at <= now) {
    if (silent_back_ > now) {
      if (!silent_back_.is_never()) {
        world_.schedule.at(silent_back_, [this, number] { pump_back(number); });
      }
      return;
    }
    const Answered answered = std::move(connection.back.front());
    connection.back.pop_front();
    if (answered.hang_up) return lose();
    answer(answered);
  }
}

void Link::break_off() {
  if (up_) lose();
}

void Link::server_crashed() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    Connection& connection = it->second;
    connection.there.clear();
    if (!connection.heard) {
      it = connections_.erase(it);
      continue;
    }
    // What it had answered arrives, or does not; then comes the end of the connection.
    if (world_.chance.one_in(2)) connection.back.clear();
    connection.last_back = std::max(connection.last_back, world_.schedule.now() + delay());
    connection.back.push_back({connection.last_back, {}, {}, true});
    world_.schedule.at(connection.last_back, [this, number = it->first] { pump_back(number); });
    ++it;
  }
}

void Link::silence(Way way, TimePoint until) {
  static constexpr const char* kWords[] = {"cannot be heard by node %n any more",
                                           "hears nothing of node %n any more",
                                           "is cut off from node %n"};
  world_.note(host_.index, kWords[static_cast<int>(way)], node_.index);
  if (way != Way::back) silent_there_ = std::max(silent_there_, until);
  if (way != Way::there) silent_back_ = std::max(silent_back_, until);
}

void Link::heal() {
  disturbed_ =
      std::max(disturbed_, std::min(std::max(silent_there_, silent_back_), world_.schedule.now()));
  silent_there_ = silent_back_ = TimePoint::past();
  world_.note(host_.index, "has a sound network to node %n", node_.index);
  pump();
}

TimePoint Link::disturbed() const {
  return std::max({disturbed_, silent_there_, silent_back_, node_.disturbed()});
}

}  // namespace redlock::sim
