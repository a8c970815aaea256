#include "app/narrator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/duration.h"
#include "app/signal_name.h"
#include "app/wording.h"
#include "os/clock.h"
#include "redis/lock_text.h"

namespace redlock::app {
namespace {

constexpr Duration kLogEvery = Duration::seconds(30);
constexpr Duration kUpdateEvery = Duration::seconds(1);

}  // namespace

Narrator::Narrator(const Options& options, const core::Run& run, std::vector<std::string> servers,
                   Log& log)
    : options_(options),
      run_(run),
      servers_(std::move(servers)),
      watch_(run.lease(), servers_),
      log_(log),
      on_terminal_(options.wait > Duration() && ::isatty(STDERR_FILENO) == 1) {}

void Narrator::on_effect(const core::RunEffect& effect, TimePoint now) {
  if (const auto* granted = std::get_if<core::Granted>(&effect)) {
    log_.show_status({});
    if (log_.shows(LogLevel::info)) {
      log_.info(fmt::format("acquired in {:.1f}ms, fencing token {}",
                            static_cast<double>((now - began_).ns()) / 1e6, granted->fence.get()));
    }
  } else if (const auto* gave_up = std::get_if<core::GaveUp>(&effect)) {
    log_.show_status({});
    say_gave_up(gave_up->why, now);
  } else if (const auto* lost = std::get_if<core::Lost>(&effect)) {
    say_lost(lost->why, now);
  } else if (const auto* released = std::get_if<core::Released>(&effect)) {
    say_released(*released, now);
  } else if (const auto* finish = std::get_if<core::Finish>(&effect)) {
    say_finished(finish->verdict);
  } else if (const auto* send = std::get_if<core::Send>(&effect)) {
    if (log_.shows(LogLevel::debug)) say_request(*send);
  } else if (const auto* stop = std::get_if<core::StopJob>(&effect)) {
    if (stop->signal_job) {
      log_.warning(fmt::format("COMMAND ran for {} (--max-run): stopping it with {}",
                               format_duration(options_.max_run),
                               signal_name(options_.stop_signal)));
    }
  } else if (std::holds_alternative<core::SuspendSelf>(effect)) {
    const TimePoint until = run_.lease().valid_until();
    if (until > now) {
      log_.warning(fmt::format("suspended; the lease ends in {}, and COMMAND before it",
                               format_duration(until - now)));
    }
  } else if (const auto* forward = std::get_if<core::Forward>(&effect)) {
    log_.info(fmt::format("passing {} on to COMMAND", signal_name(forward->signal)));
  }
}

void Narrator::on_input(const core::RunInput& input, TimePoint now) {
  if (std::holds_alternative<core::Begin>(input)) {
    began_ = now;
    const std::string advice = list_advice(servers_.size());
    if (!advice.empty()) log_.warning(advice);
    if (options_.wait > Duration()) next_wait_line_ = now + (on_terminal_ ? Duration() : kLogEvery);
  } else if (const auto* answer = std::get_if<core::NodeAnswer>(&input)) {
    if (log_.shows(LogLevel::debug)) say_answer(*answer);
  } else if (const auto* ended = std::get_if<core::CommandEnded>(&input)) {
    const core::CommandStatus& status = ended->status;
    if (status.dumped_core) {
      log_.warning(fmt::format("COMMAND died of {} and dumped core", signal_name(status.value)));
    } else if (log_.shows(LogLevel::info)) {
      log_.info(status.signalled ? fmt::format("COMMAND died of {}", signal_name(status.value))
                                 : fmt::format("COMMAND exited with {}", status.value));
    }
  } else if (const auto* slip = std::get_if<core::TimeSlipped>(&input)) {
    log_.info(fmt::format("the wall clock jumped ahead by {}: asking the servers about the lease",
                          format_duration(slip->missed)));
  } else if (std::holds_alternative<core::Started>(input)) {
    log_.info("COMMAND started");
  } else if (std::holds_alternative<core::Fenced>(input)) {
    if (!loss_said_) say_lost(core::Loss::expired, now);
  } else if (std::holds_alternative<core::GuardDied>(input)) {
    loss_said_ = true;
    log_.error(
        "lease given up: the guard process was killed, so COMMAND is killed with everything "
        "it started");
  } else if (std::holds_alternative<core::StartDeclined>(input)) {
    log_.info("too slow to start COMMAND on this lease: trying again");
  }
}

bool Narrator::waiting() const {
  return run_.supervision().state() == core::Supervision::State::waiting;
}

bool Narrator::watches_servers() const {
  return run_.lease().state() == core::Lease::State::held;
}

std::string Narrator::after_waiting(TimePoint now) const {
  if (options_.wait == Duration()) return {};
  return fmt::format("gave up after {}: ", format_duration(now - began_));
}

std::string Narrator::holder_text(TimePoint now) const {
  const std::optional<core::NodeReport>& report = run_.lease().last_held();
  if (!report) return "held elsewhere";
  std::string text = "held by another program";
  if (report->holder.empty()) {
    text = "held by another program (foreign format)";
  } else if (const std::optional<redis::Holder> holder = redis::parse_holder(report->holder)) {
    const Duration age = Duration::seconds(std::max<std::int64_t>(
        os::wall_ms() / 1000 - std::clamp<std::int64_t>(holder->since, 0, 1LL << 40), 0));
    text =
        fmt::format("held by {} (pid {}) for {}", holder->host, holder->pid, format_duration(age));
  }
  if (report->remaining.is_infinite()) {
    return text + fmt::format(
                      "; it never expires: the key '{}' has no ttl; delete it by hand if "
                      "its owner is gone",
                      options_.key.get());
  }
  const Duration left = std::max(report->said + report->remaining - now, Duration());
  return text + fmt::format(", lease ends in {}", format_duration(left));
}

/// What is the matter with one server, as far as it has been said; empty when nothing is.
std::string Narrator::reason_of(std::size_t server, bool held_too) const {
  const core::NodeReport& report = run_.lease().report(NodeIndex(server));
  if (report.twin) {
    return fmt::format("it is the same server as {}; list each server once",
                       servers_[report.twin->get()]);
  }
  if (report.answer == core::Answer::granted) return {};
  if (report.answer == core::Answer::held) return held_too ? "held by another" : "";
  if (!report.reason.empty()) return without_full_stop(report.reason);
  if (!report.silent) return {};
  return fmt::format("no answer within {}", format_duration(options_.timing.node_timeout));
}

std::string Narrator::server_reasons(bool held_too) const {
  std::vector<std::string> all;
  std::vector<std::string> open;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const std::string reason = reason_of(i, held_too);
    if (!reason.empty()) all.push_back(servers_[i] + ": " + reason);
    const bool owes = !run_.lease().report(NodeIndex(i)).wanting_since.is_never();
    if (reason.empty() && owes) open.push_back(servers_[i] + ": no answer yet");
  }
  // Those that were simply not waited for are no reason as long as there are enough others.
  const std::size_t enough = servers_.size() - core::quorum_of(servers_.size()) + 1;
  if (held_too ? all.size() < enough : all.empty()) all.insert(all.end(), open.begin(), open.end());
  return fmt::format("{}", fmt::join(all, "; "));
}

/// Why the lease could not be renewed: those that owe an answer, or have no key of ours any more.
std::string Narrator::renewal_reasons(TimePoint now) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const core::NodeReport& report = run_.lease().report(NodeIndex(i));
    std::string reason = without_full_stop(report.reason);
    if (report.answer == core::Answer::gone) {
      reason = "it has lost the key";
    } else if (report.answer == core::Answer::held || report.answer == core::Answer::foreign) {
      reason = "held by another";
    } else if (report.wanting_since.is_never()) {
      continue;
    } else if (reason.empty()) {
      reason = fmt::format("no answer for {}", format_duration(now - report.wanting_since));
    }
    all.push_back(servers_[i] + ": " + reason);
  }
  return all.empty() ? "redlock-run itself got no time for it"
                     : fmt::format("{}", fmt::join(all, "; "));
}

void Narrator::say_gave_up(core::Refusal why, TimePoint now) {
  switch (why) {
    case core::Refusal::held:
      log_.warning(after_waiting(now) + holder_text(now));
      break;
    case core::Refusal::contended:
      log_.warning(fmt::format(
          "{}contended: nobody got {} of the {} servers; the last was seen {}; try "
          "again, or wait with -w",
          after_waiting(now), core::quorum_of(servers_.size()), servers_.size(), holder_text(now)));
      break;
    case core::Refusal::unavailable:
      if (servers_.size() == 1) {
        log_.error(
            fmt::format("{}no server able to grant the lock: {}; check it, or name another with "
                        "-r or REDLOCK_RUN_REDIS",
                        after_waiting(now), server_reasons(false)));
      } else {
        log_.error(
            fmt::format("{}no quorum: {} of {} servers have to grant the lock, but {}; check them",
                        after_waiting(now), core::quorum_of(servers_.size()), servers_.size(),
                        server_reasons(true)));
      }
      break;
    case core::Refusal::denied:
      log_.error(
          fmt::format("credentials or rights refused: {}; check the user, the password and "
                      "the server's ACL",
                      server_reasons(false)));
      break;
    case core::Refusal::misconfigured:
      log_.error(fmt::format("not a server for locks: {}", server_reasons(false)));
      break;
  }
}

void Narrator::say_lost(core::Loss why, TimePoint now) {
  if (std::exchange(loss_said_, true)) return;
  switch (why) {
    case core::Loss::expired:
      log_.error(
          fmt::format("lease lost: it could not be renewed in time ({}); stopping COMMAND "
                      "before somebody else may start",
                      renewal_reasons(now)));
      break;
    case core::Loss::foreign:
      log_.error(
          fmt::format("lease lost: the key '{}' is somebody else's now ({}); stopping COMMAND",
                      options_.key.get(), renewal_reasons(now)));
      break;
    case core::Loss::gone:
      log_.error(
          fmt::format("lease lost: the key '{}' was deleted, or the server restarted without it "
                      "({}); stopping COMMAND",
                      options_.key.get(), renewal_reasons(now)));
      break;
  }
}

void Narrator::say_released(const core::Released& released, TimePoint now) {
  if (loss_said_) return;
  if (released.free) say_of_servers(now, true);
  if (!released.untouched) {
    log_.warning(
        fmt::format("the key '{}' was gone or somebody else's at the release; nothing was "
                    "touched",
                    options_.key.get()));
  } else if (!released.free) {
    log_.warning(fmt::format("not released: {}; the lock expires by itself within {}",
                             server_reasons(false), format_duration(options_.timing.ttl)));
  } else {
    log_.info("released");
  }
}

void Narrator::say_finished(const core::Verdict& verdict) {
  log_.show_status({});
  const std::string& command = options_.command.front();
  if (verdict.ending == core::Ending::not_executable) {
    log_.error(fmt::format("cannot run '{}': {}", command, exec_reason(verdict.value, command)));
  } else if (verdict.ending == core::Ending::not_started) {
    log_.error(fmt::format("cannot start '{}': {}", command, ::strerror(verdict.value)));
  } else if (verdict.ending == core::Ending::interrupted) {
    log_.info(fmt::format("{} before COMMAND was started", signal_name(verdict.value)));
  }
}

void Narrator::on_left_behind(const std::vector<pid_t>& pids) {
  log_.warning(
      fmt::format("COMMAND has ended, but processes of its session still run: {}; the lock "
                  "is kept until they end",
                  list_processes(pids)));
}

void Narrator::on_survivors(const std::vector<pid_t>& pids) {
  log_.error(
      fmt::format("could not kill {}; the lock is not released and expires by itself within "
                  "{}",
                  list_processes(pids), format_duration(options_.timing.ttl)));
}

void Narrator::say_request(const core::Send& send) {
  log_.debug(fmt::format("{}: {} #{}", servers_[send.node.get()], word_for(send.request.kind),
                         send.request.id.get()));
}

void Narrator::say_answer(const core::NodeAnswer& answer) {
  log_.debug(fmt::format("{}: #{} {}{}{}", servers_[answer.node.get()], answer.request.get(),
                         word_for(answer.outcome.answer), answer.outcome.reason.empty() ? "" : ": ",
                         answer.outcome.reason));
}

void Narrator::say_of_servers(TimePoint now, bool last) {
  for (const std::string& line : watch_.due(now, last)) log_.warning(line);
}

void Narrator::tick(TimePoint now) {
  if (watches_servers() && !loss_said_) say_of_servers(now, false);
  if (next_wait_line_ > now) return;
  if (!waiting()) {
    next_wait_line_ = TimePoint::never();
    return;
  }
  next_wait_line_ = now + (on_terminal_ ? kUpdateEvery : kLogEvery);
  if (!log_.shows(LogLevel::warning)) return;
  const std::string limit = options_.wait.is_infinite()
                                ? std::string()
                                : fmt::format(" of {}", format_duration(options_.wait));
  const std::string why = run_.lease().last_held() ? holder_text(now) : server_reasons(true);
  const std::string text =
      fmt::format("waiting for {}{}: {}", format_duration(now - began_), limit, why);
  on_terminal_ ? log_.show_status(text) : log_.warning(text);
}

TimePoint Narrator::wakeup() const {
  return watches_servers() ? std::min(next_wait_line_, watch_.wakeup()) : next_wait_line_;
}

}  // namespace redlock::app
