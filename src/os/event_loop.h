// The one place where the program waits: poll(2) over descriptors and one CLOCK_BOOTTIME timer.
// (A poll timeout would run on CLOCK_MONOTONIC, which stands still during suspend while leases on
// the servers run on.) Passive: decides nothing, calls back whoever watches a descriptor.
#pragma once

#include <functional>
#include <vector>

#include "base/time.h"
#include "base/unique_fd.h"

struct pollfd;

namespace redlock::os {

/// What may be watched for, and what happened. Errors and hang-ups are reported as both, so that
/// the next read or write shows them.
struct Readiness {
  bool readable = false;
  bool writable = false;
};

/// Single-threaded. Callbacks may watch and forget any descriptor, their own included.
class EventLoop {
 public:
  using Callback = std::function<void(Readiness)>;

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  /// Calls `callback` whenever `fd` is ready for `interest`; replaces what was watched on `fd`.
  /// Watching for nothing keeps the callback and is silent (errors are then not reported either).
  /// The descriptor stays the caller's, who must forget() it before closing it.
  void watch(int fd, Readiness interest, Callback callback);
  /// Changes the interest of a watched descriptor, keeping its callback.
  void set_interest(int fd, Readiness interest);
  void forget(int fd);

  /// Sleeps until a watched descriptor is ready or `deadline` (CLOCK_BOOTTIME) is reached, then
  /// runs the callbacks that are due, in the order in which their descriptors were first watched.
  void wait_until(TimePoint deadline);

 private:
  struct Watch {
    int fd = -1;
    Readiness interest;
    Callback callback;
  };

  void arm(TimePoint deadline);
  void dispatch(const std::vector<pollfd>& ready);
  Watch* find(int fd);

  UniqueFd timer_;
  TimePoint armed_for_ = TimePoint::never();
  std::vector<Watch> watches_;
};

}  // namespace redlock::os
