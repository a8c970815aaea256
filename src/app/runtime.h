// Drives one run: reads the clock once a turn, feeds what happened to the core, performs what the
// core decided. Decides nothing itself. The order within a turn is time, guard, signals, servers:
// a deadline that has passed counts before news that would move it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/guard.h"
#include "app/name_resolver.h"
#include "app/narrator.h"
#include "app/options.h"
#include "base/log.h"
#include "core/run.h"
#include "os/event_loop.h"
#include "os/signals.h"
#include "redis/lock_text.h"
#include "redis/node.h"

namespace redlock::app {

class Runtime {
 public:
  /// `environment` is what COMMAND's is made of. All arguments must outlive the runtime.
  Runtime(const Options& options, const os::InheritedSignals& signals, char* const* environment);
  ~Runtime();

  /// To be called once. Returns when everything is over and given back.
  core::Verdict run();

 private:
  /// What one attempt says to every server.
  struct AttemptText {
    core::Attempt attempt;
    Token token;
    std::int64_t begun_ms = 0;  ///< by the wall clock
  };
  const AttemptText& attempt_text(core::Attempt attempt);
  bool is_doubtful(NodeIndex node) const;
  void turn();
  void notice_slip();
  void feed(const core::RunInput& input);
  void feed_answers();
  void feed_guard();
  void feed_signals();
  TimePoint wakeup() const;
  void perform(const core::RunEffect& effect);
  void spawn(const core::Spawn& order);
  void settle_down();
  void say_left_behind();

  const Options& options_;
  const os::InheritedSignals& signals_;
  char* const* const environment_;
  const bool shares_terminal_;
  Log log_;
  os::EventLoop loop_;
  os::SignalInbox inbox_;
  NameResolver resolver_;
  core::Draw draw_;
  core::Run run_;
  redis::LockIdentity identity_;
  std::deque<core::RunInput> answers_;
  std::vector<std::unique_ptr<redis::Node>> nodes_;
  std::unique_ptr<Narrator> narrator_;

  TimePoint now_;
  /// By how much the wall clock was ahead of ours in the last turn.
  Duration wall_ahead_;
  std::deque<AttemptText> attempts_;
  const std::string host_;
  std::vector<std::string> command_environment_;
  std::vector<std::string> command_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
  GuardSpec guard_spec_;
  std::unique_ptr<Guard> guard_;
  TimePoint say_left_behind_at_ = TimePoint::never();
  bool signals_ready_ = false;
  bool guard_ready_ = false;
  core::Verdict verdict_;
};

}  // namespace redlock::app
