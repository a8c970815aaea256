// A process that can be stopped and continued: what is to happen in it meanwhile waits, in order.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "sim/schedule.h"

namespace redlock::sim {

class Process {
 public:
  explicit Process(Schedule& schedule) : schedule_(schedule) {}

  bool paused() const { return paused_until_ > schedule_.now(); }
  /// Until then at least; never(): until go_on().
  void pause(TimePoint until) {
    paused_until_ = std::max(paused_until_, until);
    if (until.is_never()) return;
    schedule_.at(until, [this] {
      if (!paused()) catch_up();
    });
  }
  void go_on() {
    paused_until_ = TimePoint::past();
    catch_up();
  }
  /// Now, or when it goes on.
  void when_awake(std::function<void()> what) {
    if (paused() || !waiting_.empty()) {
      waiting_.push_back(std::move(what));
    } else {
      what();
    }
  }
  /// Another process takes its place.
  void end() {
    paused_until_ = TimePoint::past();
    waiting_.clear();
  }

 private:
  void catch_up() {
    for (const auto& what : std::exchange(waiting_, {})) what();
  }

  Schedule& schedule_;
  TimePoint paused_until_ = TimePoint::past();
  std::vector<std::function<void()>> waiting_;
};

}  // namespace redlock::sim
