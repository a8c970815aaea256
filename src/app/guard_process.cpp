#include "app/guard_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "app/enforcer.h"
#include "base/assert.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/spawn.h"
#include "os/timer.h"

namespace redlock::app {
namespace {

/// How long after the margin SIGKILL is given to take effect.
constexpr Duration kPatience = Duration::seconds(2);

class GuardProcess : private EnforcerListener {
 public:
  GuardProcess(const GuardSpec& spec, GuardLink link, GuardPage& page)
      : spec_(spec),
        link_(std::move(link.socket)),
        stop_timer_(std::move(link.stop_timer)),
        page_(page) {}

  [[noreturn]] void run();

 private:
  pid_t start_command();
  void settle_down();
  void serve(Enforcer& enforcer);
  void read_front(Enforcer& enforcer, TimePoint now);
  void arm(TimePoint when);
  core::Deadlines deadlines() const;
  void say(GuardMessage message);
  void say(GuardWord word, const Pids& pids);

  void on_ended(const os::ChildEnd& end) override;
  void on_left(const Pids& pids) override { say(GuardWord::left, pids); }
  void on_stopped(bool stopped) override {
    say({.word = stopped ? GuardWord::stopped : GuardWord::continued});
  }
  void on_fenced() override {
    page_.fenced.store(true);
    say({.word = GuardWord::fenced});
  }
  void on_unkillable(const Pids& pids) override { say(GuardWord::unkillable, pids); }
  void on_over() override { say({.word = GuardWord::over}); }

  const GuardSpec& spec_;
  UniqueFd link_;
  UniqueFd stop_timer_;
  GuardPage& page_;
  UniqueFd children_;
  /// For everything but an untouched stop line.
  UniqueFd timer_;
  TimePoint armed_for_ = TimePoint::never();
  bool stop_timer_fired_ = false;
};

void GuardProcess::run() {
  ::prctl(PR_SET_NAME, "redlock-guard");
  RR_ASSERT(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  const pid_t main = start_command();
  if (main > 0) {
    Enforcer enforcer(main, spec_.own_group, spec_.stop_signal,
                      core::Fence(spec_.kill_after, spec_.kill_margin + kPatience), *this);
    settle_down();
    serve(enforcer);
  }
  ::_exit(0);
}

pid_t GuardProcess::start_command() {
  const os::SpawnResult result = os::spawn({
      .argv = spec_.argv,
      .envp = spec_.envp,
      .listen_pid = spec_.listen_pid,
      .signals = spec_.signals,
      .own_group = spec_.own_group,
      .latest_start = &page_.latest_start,
  });
  switch (result.outcome) {
    case os::SpawnOutcome::started:
      say({.word = GuardWord::started, .pids = {result.pid}});
      return result.pid;
    case os::SpawnOutcome::too_late:
      say({.word = GuardWord::declined});
      return 0;
    case os::SpawnOutcome::exec_failed:
      say({.word = GuardWord::exec_failed, .number = result.error});
      return 0;
    case os::SpawnOutcome::fork_failed:
      say({.word = GuardWord::start_failed, .number = result.error});
      return 0;
  }
  RR_ASSERT(false);
  return 0;
}

/// COMMAND has its session, group and descriptors by now; the guard leaves them, so that no ^C, no
/// hang-up and no kill of the group reaches it and no pipe waits for it.
void GuardProcess::settle_down() {
  ::setsid();
  os::close_all_but(link_, stop_timer_);
  os::let_go_of_surroundings(true);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  children_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_ = os::make_timer();
  RR_ASSERT(children_ && timer_);
  // A bonus: without the right to lock memory the guard works, if slower when the host is short.
  static_cast<void>(::mlockall(MCL_CURRENT | MCL_ONFAULT));
}

void GuardProcess::serve(Enforcer& enforcer) {
  bool front_lives = true;
  // COMMAND may have ended before there was anybody to notice.
  enforcer.on_children(os::boot_now());
  while (!enforcer.over()) {
    arm(enforcer.wakeup(deadlines()));
    pollfd polled[] = {{timer_.get(), POLLIN, 0},
                       {children_.get(), POLLIN, 0},
                       {front_lives ? link_.get() : -1, POLLIN, 0},
                       {stop_timer_fired_ ? -1 : stop_timer_.get(), POLLIN, 0}};
    if (::poll(polled, 4, -1) < 0) continue;
    const TimePoint now = os::boot_now();
    enforcer.tick(now, deadlines());
    // From here the guard keeps the time alone, whether it fences or only finds that the front
    // stored a later deadline and had not moved the timer yet.
    stop_timer_fired_ = stop_timer_fired_ || polled[3].revents != 0;
    if (polled[1].revents != 0) {
      signalfd_siginfo info[4];
      while (::read(children_.get(), info, sizeof info) > 0) {
      }
      enforcer.on_children(now);
    }
    if (polled[2].revents != 0) {
      read_front(enforcer, now);
      front_lives = static_cast<bool>(link_);
    }
  }
}

void GuardProcess::read_front(Enforcer& enforcer, TimePoint now) {
  for (;;) {
    GuardMessage message;
    const ssize_t got = ::recv(link_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof message) {
      link_.reset();
      enforcer.front_gone(now);
      return;
    }
    switch (message.word) {
      case GuardWord::signal_main:
        enforcer.forward_to_main(message.number);
        break;
      case GuardWord::signal_job:
        enforcer.forward_to_job(message.number);
        break;
      case GuardWord::stop:
        enforcer.stop(
            now, {.kill = TimePoint::from_ns(message.time), .signal_job = message.number != 0});
        break;
      case GuardWord::wake:
        enforcer.tick(now, deadlines());
        break;
      case GuardWord::started:
      case GuardWord::exec_failed:
      case GuardWord::declined:
      case GuardWord::start_failed:
      case GuardWord::stopped:
      case GuardWord::continued:
      case GuardWord::ended:
      case GuardWord::left:
      case GuardWord::fenced:
      case GuardWord::unkillable:
      case GuardWord::over:
        break;
    }
  }
}

void GuardProcess::arm(TimePoint when) {
  // The stop line has a timer of its own, as long as that was not used up.
  if (!stop_timer_fired_ && when == deadlines().stop) when = TimePoint::never();
  if (when == armed_for_) return;
  armed_for_ = when;
  os::set_timer(timer_.get(), when);
}

core::Deadlines GuardProcess::deadlines() const {
  return {.stop = TimePoint::from_ns(page_.stop_at.load()),
          .kill = TimePoint::from_ns(page_.kill_at.load())};
}

void GuardProcess::say(GuardMessage message) {
  // A front that is gone or does not read is no reason to wait.
  if (link_) {
    static_cast<void>(::send(link_.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL));
  }
}

void GuardProcess::say(GuardWord word, const Pids& pids) {
  say({.word = word, .pids = pids.list});
}

void GuardProcess::on_ended(const os::ChildEnd& end) {
  say({.word = GuardWord::ended,
       .number = end.value,
       .signalled = end.signalled,
       .dumped_core = end.dumped_core});
}

}  // namespace

void run_guard(const GuardSpec& spec, GuardLink link, GuardPage& page) {
  GuardProcess(spec, std::move(link), page).run();
}

}  // namespace redlock::app
