// Carries out what the Fence decides: signals, kills and counts the processes below this one. Used
// by the guard, and by the front when the guard is dead.
#pragma once

#include <array>
#include <cstddef>

#include "core/fence.h"
#include "os/process_tree.h"

namespace redlock::app {

/// Who is told. Called from within Enforcer's functions; must not call back.
class EnforcerListener {
 public:
  EnforcerListener() = default;
  EnforcerListener(const EnforcerListener&) = delete;
  EnforcerListener& operator=(const EnforcerListener&) = delete;
  virtual ~EnforcerListener() = default;

  struct Pids {
    std::array<pid_t, 8> list{};
    std::size_t count = 0;
  };

  virtual void on_ended(const os::ChildEnd& end) = 0;
  /// COMMAND ended, but these of its job live on.
  virtual void on_left(const Pids& pids) = 0;
  virtual void on_stopped(bool stopped) = 0;
  virtual void on_fenced() = 0;
  virtual void on_unkillable(const Pids& pids) = 0;
  virtual void on_over() = 0;
};

class Enforcer {
 public:
  /// `main`, `own_group`: as for os::ProcessTree. The listener must outlive it.
  Enforcer(pid_t main, bool own_group, int stop_signal, core::Fence fence,
           EnforcerListener& listener);

  /// Enforces the deadlines.
  void tick(TimePoint now, const core::Deadlines& deadlines);
  /// To be called after SIGCHLD.
  void on_children(TimePoint now);
  void stop(TimePoint now, const core::StopJob& order);
  void front_gone(TimePoint now);
  void forward_to_main(int signal);
  /// Followed by CONT, so that a stopped job can act on it.
  void forward_to_job(int signal);

  TimePoint wakeup(const core::Deadlines& deadlines) const;
  bool over() const { return fence_.state() == core::Fence::State::over; }

 private:
  void perform(const core::FenceEffects& effects, TimePoint now);
  void count(TimePoint now);
  EnforcerListener::Pids living();

  os::ProcessTree tree_;
  const int stop_signal_;
  core::Fence fence_;
  EnforcerListener& listener_;
  bool told_end_ = false;
  bool told_left_ = false;
  TimePoint recount_at_ = TimePoint::never();
  Duration recount_pause_;
};

}  // namespace redlock::app
