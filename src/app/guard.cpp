#include "app/guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

#include "base/assert.h"
#include "os/timer.h"

namespace redlock::app {
namespace {

/// When the guard is gone nobody else counts the grace: kill at once, with this much patience.
constexpr Duration kPatience = Duration::seconds(4);

}  // namespace

std::unique_ptr<Guard> Guard::start(const GuardSpec& spec, const core::Deadlines& deadlines,
                                    TimePoint latest_start) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  GuardLink ours{UniqueFd(ends[0]), os::make_timer()};
  GuardLink theirs{UniqueFd(ends[1]), UniqueFd(::fcntl(ours.stop_timer.get(), F_DUPFD_CLOEXEC, 3))};
  if (!theirs.stop_timer) return nullptr;
  os::set_timer(ours.stop_timer.get(), deadlines.stop);
  void* const memory =
      ::mmap(nullptr, sizeof(GuardPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const page = new (memory) GuardPage{};
  page->stop_at = deadlines.stop.ns();
  page->kill_at = deadlines.kill.ns();
  page->latest_start = latest_start.ns();
  // What the guard guarded falls to us if it dies.
  static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
  const pid_t pid = ::fork();
  if (pid == 0) run_guard(spec, std::move(theirs), *page);
  if (pid < 0) {
    const int error = errno;
    ::munmap(memory, sizeof(GuardPage));
    errno = error;
    return nullptr;
  }
  return std::unique_ptr<Guard>(new Guard(page, std::move(ours), pid));
}

Guard::~Guard() {
  link_.reset();
  // It is about to exit, or dead; nothing holds it up any more.
  if (finished_) reap();
  ::munmap(page_, sizeof(GuardPage));
}

std::vector<core::RunInput> Guard::read() {
  std::vector<core::RunInput> inputs;
  // Its last word said, the guard is only exiting, and nothing is to wait for that.
  while (link_ && !finished_) {
    GuardMessage message;
    const ssize_t got = ::recv(link_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    // The guard ended without reading all that was sent to it. Said once, and before what it had
    // to say itself, which is still there.
    if (got < 0 && errno == ECONNRESET) continue;
    if (got != sizeof message) {
      link_.reset();
      note_death(inputs);
      break;
    }
    note(message, inputs);
  }
  if (finished_) link_.reset();
  return inputs;
}

void Guard::note_death(std::vector<core::RunInput>& inputs) {
  // Reaped here, so that it is not counted among what COMMAND left behind.
  reap();
  if (std::exchange(finished_, true)) return;
  inputs.emplace_back(core::GuardDied{});
}

void Guard::reap() {
  if (!std::exchange(reaped_, true)) ::waitpid(pid_, nullptr, 0);
}

void Guard::note(const GuardMessage& message, std::vector<core::RunInput>& inputs) {
  switch (message.word) {
    case GuardWord::started:
      inputs.emplace_back(core::Started{});
      break;
    case GuardWord::exec_failed:
      finished_ = true;
      inputs.emplace_back(core::ExecFailed{message.number});
      break;
    case GuardWord::declined:
      finished_ = true;
      inputs.emplace_back(core::StartDeclined{});
      break;
    case GuardWord::start_failed:
      finished_ = true;
      inputs.emplace_back(core::StartFailed{message.number});
      break;
    case GuardWord::stopped:
      inputs.emplace_back(core::CommandStopped{});
      break;
    case GuardWord::continued:
      break;
    case GuardWord::ended:
      inputs.emplace_back(core::CommandEnded{{.signalled = message.signalled,
                                              .value = message.number,
                                              .dumped_core = message.dumped_core}});
      break;
    case GuardWord::left:
    case GuardWord::unkillable: {
      survivors_ = {.list = message.pids, .count = 0};
      for (const pid_t pid : message.pids) survivors_.count += pid != 0 ? 1 : 0;
      if (message.word == GuardWord::left) break;
      finished_ = true;
      inputs.emplace_back(core::Unkillable{});
      break;
    }
    case GuardWord::fenced:
      inputs.emplace_back(core::Fenced{});
      break;
    case GuardWord::over:
      finished_ = true;
      inputs.emplace_back(core::JobOver{});
      break;
    case GuardWord::signal_main:
    case GuardWord::signal_job:
    case GuardWord::stop:
    case GuardWord::wake:
      RR_ASSERT(false);
  }
}

void Guard::say(const GuardMessage& message) {
  if (!link_) return;
  // It fails when the guard is dead, which read() finds out, or when it has not read for very long;
  // then its own clock is what counts.
  static_cast<void>(::send(link_.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void Guard::publish(const core::Publish& order, TimePoint now) {
  if (page_->fenced.load() || now.ns() >= page_->kill_at.load()) return;
  // Kill first: a guard that reads between the two sees a pair that is no later than either.
  page_->kill_at = order.deadlines.kill.ns();
  page_->stop_at = order.deadlines.stop.ns();
  os::set_timer(stop_timer_.get(), order.deadlines.stop);
  if (order.urgent) say({.word = GuardWord::wake});
}

void Guard::stop(const core::StopJob& order) {
  say({.word = GuardWord::stop, .number = order.signal_job ? 1 : 0, .time = order.kill.ns()});
}

void Guard::forward(const core::Forward& order) {
  const bool to_main = order.to == core::Recipient::main;
  say({.word = to_main ? GuardWord::signal_main : GuardWord::signal_job, .number = order.signal});
}

void Guard::take_over(TimePoint now) {
  // COMMAND's pid is not used: the guard may have reaped it just before it died, and then pid and
  // group may be a stranger's by now. Our own children are certain.
  EnforcerListener& listener = *this;
  enforcer_ =
      std::make_unique<Enforcer>(0, false, SIGKILL, core::Fence(Duration(), kPatience), listener);
  // Without its guard nothing of COMMAND may live on, so the fence starts at its end.
  enforcer_->stop(now, {.kill = now, .signal_job = false});
}

std::vector<core::RunInput> Guard::tick(TimePoint now) {
  if (enforcer_) enforcer_->tick(now, {});
  return std::exchange(news_, {});
}

TimePoint Guard::wakeup() const {
  return enforcer_ && !enforcer_->over() ? enforcer_->wakeup({}) : TimePoint::never();
}

void Guard::on_unkillable(const Pids& pids) {
  survivors_ = pids;
  news_.emplace_back(core::Unkillable{});
}

}  // namespace redlock::app
