// The front's end of the guard: forks it, hands it deadlines and orders, turns what it says into
// inputs of the run, and takes over when it dies.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "app/enforcer.h"
#include "app/guard_process.h"
#include "base/unique_fd.h"
#include "core/run.h"

namespace redlock::app {

/// One guard with one COMMAND.
class Guard : private EnforcerListener {
 public:
  /// Forks the guard, which starts COMMAND unless `latest_start` has passed by then. `spec` must
  /// outlive the guard. Returns nullptr with errno set when the system has no process for it.
  static std::unique_ptr<Guard> start(const GuardSpec& spec, const core::Deadlines& deadlines,
                                      TimePoint latest_start);
  ~Guard() override;

  pid_t pid() const { return pid_; }

  /// To be watched for reading; -1 once the guard has ended.
  int fd() const { return link_.get(); }
  /// What the guard said since the last call, its death included.
  std::vector<core::RunInput> read();
  /// Processes that COMMAND left behind when it ended, or that could not be killed.
  std::vector<pid_t> survivors() const {
    return {survivors_.list.begin(),
            survivors_.list.begin() + static_cast<std::ptrdiff_t>(survivors_.count)};
  }

  /// New deadlines. Does nothing once the stop line was crossed: what is being stopped stays so.
  void publish(const core::Publish& order, TimePoint now);
  void stop(const core::StopJob& order);
  void forward(const core::Forward& order);

  /// For when the guard is dead and we are left to kill what it guarded: begins with it.
  void take_over(TimePoint now);
  /// Goes on with it; returns what came of it.
  std::vector<core::RunInput> tick(TimePoint now);
  TimePoint wakeup() const;

 private:
  Guard(GuardPage* page, GuardLink link, pid_t pid)
      : page_(page),
        link_(std::move(link.socket)),
        stop_timer_(std::move(link.stop_timer)),
        pid_(pid) {}

  void say(const GuardMessage& message);
  void note(const GuardMessage& message, std::vector<core::RunInput>& inputs);
  void note_death(std::vector<core::RunInput>& inputs);
  void reap();

  void on_ended(const os::ChildEnd&) override {}
  void on_left(const Pids&) override {}
  void on_stopped(bool) override {}
  void on_fenced() override {}
  void on_unkillable(const Pids& pids) override;
  void on_over() override { news_.emplace_back(core::JobOver{}); }

  GuardPage* const page_;
  UniqueFd link_;
  UniqueFd stop_timer_;
  const pid_t pid_;
  /// Its last word was said, or it is dead.
  bool finished_ = false;
  bool reaped_ = false;
  Pids survivors_;
  /// Ours when the guard is dead.
  std::unique_ptr<Enforcer> enforcer_;
  std::vector<core::RunInput> news_;
};

}  // namespace redlock::app
