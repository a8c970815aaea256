// Says on stderr what a user wants to know, and nothing else: silent when all is well, one line
// when the lock was not obtained or was lost, naming the server, what happened and what to do.
#pragma once

#include <string>
#include <vector>

#include "app/options.h"
#include "app/server_watch.h"
#include "base/log.h"
#include "base/time.h"
#include "core/run.h"
#include "os/process_tree.h"

namespace redlock::app {

class Narrator {
 public:
  /// `options`, `run` and `log` must outlive it; `servers` names the nodes by index.
  Narrator(const Options& options, const core::Run& run, std::vector<std::string> servers,
           Log& log);

  /// To be told before what it reports on is performed.
  void on_effect(const core::RunEffect& effect, TimePoint now);
  /// To be told before the run is.
  void on_input(const core::RunInput& input, TimePoint now);
  /// Processes of COMMAND's session outlive it, and the lock is kept for them.
  void on_left_behind(const std::vector<pid_t>& pids);
  void on_survivors(const std::vector<pid_t>& pids);

  /// While waiting: the updating line on a terminal, a line now and then elsewhere.
  void tick(TimePoint now);
  TimePoint wakeup() const;

 private:
  void say_gave_up(core::Refusal why, TimePoint now);
  void say_lost(core::Loss why, TimePoint now);
  void say_released(const core::Released& released, TimePoint now);
  void say_of_servers(TimePoint now, bool last);
  void say_finished(const core::Verdict& verdict);
  void say_request(const core::Send& send);
  void say_answer(const core::NodeAnswer& answer);
  std::string holder_text(TimePoint now) const;
  std::string reason_of(std::size_t server, bool held_too) const;
  /// Why those servers that did not grant did not; `held_too`: also those that another holds.
  std::string server_reasons(bool held_too) const;
  std::string renewal_reasons(TimePoint now) const;
  std::string after_waiting(TimePoint now) const;
  bool waiting() const;
  bool watches_servers() const;

  const Options& options_;
  const core::Run& run_;
  const std::vector<std::string> servers_;
  ServerWatch watch_;
  Log& log_;
  const bool on_terminal_;
  TimePoint began_;
  TimePoint next_wait_line_ = TimePoint::never();
  bool loss_said_ = false;
};

}  // namespace redlock::app
