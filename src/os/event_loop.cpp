#include "os/event_loop.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/assert.h"
#include "os/timer.h"

namespace redlock::os {

EventLoop::EventLoop() : timer_(make_timer()) {}

EventLoop::~EventLoop() = default;

EventLoop::Watch* EventLoop::find(int fd) {
  const auto it = std::find_if(watches_.begin(), watches_.end(),
                               [fd](const Watch& watch) { return watch.fd == fd; });
  return it == watches_.end() ? nullptr : &*it;
}

void EventLoop::watch(int fd, Readiness interest, Callback callback) {
  if (Watch* known = find(fd)) {
    known->interest = interest;
    known->callback = std::move(callback);
    return;
  }
  watches_.push_back({fd, interest, std::move(callback)});
}

void EventLoop::set_interest(int fd, Readiness interest) {
  Watch* known = find(fd);
  RR_ASSERT(known != nullptr);
  known->interest = interest;
}

void EventLoop::forget(int fd) {
  std::erase_if(watches_, [fd](const Watch& watch) { return watch.fd == fd; });
}

void EventLoop::arm(TimePoint deadline) {
  if (deadline == armed_for_) return;
  set_timer(timer_.get(), deadline);
  armed_for_ = deadline;
}

void EventLoop::wait_until(TimePoint deadline) {
  arm(deadline);
  std::vector<pollfd> polled;
  polled.reserve(watches_.size() + 1);
  polled.push_back({timer_.get(), POLLIN, 0});
  for (const Watch& watch : watches_) {
    if (!watch.interest.readable && !watch.interest.writable) continue;
    const int events =
        (watch.interest.readable ? POLLIN : 0) | (watch.interest.writable ? POLLOUT : 0);
    polled.push_back({watch.fd, static_cast<short>(events), 0});
  }
  int ready = 0;
  do {
    ready = ::poll(polled.data(), polled.size(), -1);
  } while (ready < 0 && errno == EINTR);
  RR_ASSERT(ready >= 0);
  if (polled.front().revents != 0 && clear_timer(timer_.get())) armed_for_ = TimePoint::never();
  polled.erase(polled.begin());
  dispatch(polled);
}

void EventLoop::dispatch(const std::vector<pollfd>& ready) {
  for (const pollfd& polled : ready) {
    if (polled.revents == 0) continue;
    // An earlier callback of this turn may have forgotten this one.
    Watch* watch = find(polled.fd);
    if (watch == nullptr) continue;
    const bool broken = (polled.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    const Readiness what{broken || (polled.revents & POLLIN) != 0,
                         broken || (polled.revents & POLLOUT) != 0};
    const Callback callback = watch->callback;  // survives its own forget()
    callback(what);
  }
}

}  // namespace redlock::os
