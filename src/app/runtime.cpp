#include "app/runtime.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "app/environment.h"
#include "base/unique_fd.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/entropy.h"
#include "os/procfs.h"
#include "redis/printable.h"
#include "redis/single.h"

namespace redlock::app {
namespace {

/// Whether there is a controlling terminal. Being in its foreground does not matter: a background
/// job may be brought there later, and only its own group can be.
bool has_terminal() {
  return static_cast<bool>(UniqueFd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)));
}

/// Most jobs' last processes are gone before this; only then is it worth a line.
constexpr Duration kSayLeftBehindAfter = Duration::seconds(1);

core::RunConfig config_of(const Options& options, bool shares_terminal) {
  return {
      .lease = {.nodes = options.servers.size(), .timing = options.timing, .wait = options.wait},
      .supervision = {.timing = options.timing,
                      .max_run = options.max_run,
                      .kill_after_signal = options.kill_after_given,
                      .shares_terminal = shares_terminal},
  };
}

Duration wall_ahead() {
  return Duration::milliseconds(os::wall_ms()) - (os::boot_now() - TimePoint::from_ns(0));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  all.reserve(strings.size() + 1);
  for (std::string& string : strings) all.push_back(string.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Runtime::Runtime(const Options& options, const os::InheritedSignals& signals,
                 char* const* environment)
    : options_(options),
      signals_(signals),
      environment_(environment),
      shares_terminal_(has_terminal()),
      log_("redlock-run: " + redis::printable(options.name.get()), options.log_level),
      inbox_(signals),
      resolver_(loop_),
      draw_(os::random_bits),
      run_(config_of(options, shares_terminal_), draw_),
      host_(host_name()) {
  identity_.key = options.key;
  identity_.run_id = os::random_id();
  identity_.ttl = options.timing.ttl;
  identity_.token = [this](core::Attempt attempt) { return attempt_text(attempt).token; };
  identity_.wall_ms = [this](core::Attempt attempt) { return attempt_text(attempt).begun_ms; };
  identity_.min_uptime = options.min_uptime;
  identity_.several = options.servers.size() > 1;
  const redis::NodeLimits limits{.connect = options.timing.connect_limit(),
                                 .silence = options.timing.connect_limit()};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < options.servers.size(); ++i) {
    const NodeIndex node(i);
    nodes_.push_back(std::make_unique<redis::SingleNode>(
        options.servers[i], limits, loop_, resolver_, identity_,
        [this, node](core::RequestId request, core::Outcome outcome) {
          answers_.emplace_back(core::NodeAnswer{node, request, std::move(outcome)});
        },
        [this, node](redis::Node::Link link) {
          const bool up = link != redis::Node::Link::down;
          const bool doubtful = link == redis::Node::Link::doubtful || (up && is_doubtful(node));
          answers_.emplace_back(core::NodeLink{node, up, doubtful});
        }));
    names.push_back(nodes_.back()->name());
  }
  narrator_ = std::make_unique<Narrator>(options, run_, std::move(names), log_);
  loop_.watch(inbox_.fd(), {.readable = true}, [this](os::Readiness) { signals_ready_ = true; });
}

Runtime::~Runtime() = default;

/// One text for each attempt, whichever server it goes to: begun when the attempt is.
const Runtime::AttemptText& Runtime::attempt_text(core::Attempt attempt) {
  const auto known = std::find_if(attempts_.begin(), attempts_.end(),
                                  [attempt](const auto& one) { return one.attempt == attempt; });
  if (known != attempts_.end()) return *known;
  // Only what is still unanswered can ask for an earlier one.
  if (attempts_.size() > 64) attempts_.pop_front();
  const std::int64_t begun = os::wall_ms();
  attempts_.push_back({attempt,
                       redis::make_token(identity_.run_id, attempt,
                                         {.host = host_, .pid = ::getpid(), .since = begun / 1000}),
                       begun});
  return attempts_.back();
}

/// Whether it has perhaps reached the same server as another one.
bool Runtime::is_doubtful(NodeIndex node) const {
  const std::optional<redis::Peer>& peer = nodes_.at(node.get())->peer();
  return peer && std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& other) {
           return other != nodes_[node.get()] && other->peer() &&
                  redis::may_be_one(*peer, *other->peer());
         });
}

core::Verdict Runtime::run() {
  now_ = os::boot_now();
  wall_ahead_ = wall_ahead();
  feed(core::Begin{});
  feed_answers();
  while (!run_.done()) {
    loop_.wait_until(wakeup());
    turn();
  }
  return verdict_;
}

void Runtime::turn() {
  now_ = os::boot_now();
  feed(core::Tick{});
  notice_slip();
  feed_guard();
  feed_signals();
  for (const auto& node : nodes_) node->tick(now_);
  feed_answers();
  feed(core::Tick{});
  feed_answers();
  narrator_->tick(now_);
  if (say_left_behind_at_ <= now_) say_left_behind();
}

/// A machine that is paused from outside may not see it on its own clock, but on the wall's, once
/// that is set right.
void Runtime::notice_slip() {
  const Duration ahead = wall_ahead();
  const Duration missed = ahead - std::exchange(wall_ahead_, ahead);
  if (missed > options_.timing.drift()) feed(core::TimeSlipped{missed});
}

TimePoint Runtime::wakeup() const {
  TimePoint when = std::min({run_.wakeup(), narrator_->wakeup(), say_left_behind_at_});
  for (const auto& node : nodes_) when = std::min(when, node->wakeup());
  if (guard_) when = std::min(when, guard_->wakeup());
  return when;
}

void Runtime::feed(const core::RunInput& input) {
  if (run_.done()) return;
  narrator_->on_input(input, now_);
  for (const core::RunEffect& effect : run_.step(now_, input)) {
    narrator_->on_effect(effect, now_);
    perform(effect);
  }
}

void Runtime::feed_answers() {
  // Sending may answer at once, and an answer may send.
  while (!answers_.empty()) {
    const core::RunInput answer = std::move(answers_.front());
    answers_.pop_front();
    feed(answer);
  }
}

void Runtime::feed_guard() {
  if (!guard_) return;
  std::vector<core::RunInput> inputs = guard_->tick(now_);
  if (std::exchange(guard_ready_, false)) {
    const int fd = guard_->fd();
    std::vector<core::RunInput> said = guard_->read();
    if (guard_->fd() < 0) loop_.forget(fd);
    inputs.insert(inputs.end(), std::make_move_iterator(said.begin()),
                  std::make_move_iterator(said.end()));
  }
  for (const core::RunInput& input : inputs) {
    if (std::holds_alternative<core::Unkillable>(input)) {
      narrator_->on_survivors(guard_->survivors());
    }
    feed(input);
    if (std::holds_alternative<core::Started>(input)) settle_down();
    if (std::holds_alternative<core::CommandEnded>(input)) {
      say_left_behind_at_ = now_ + kSayLeftBehindAfter;
    }
  }
}

void Runtime::feed_signals() {
  if (!std::exchange(signals_ready_, false)) return;
  while (const std::optional<os::Signal> signal = inbox_.next()) {
    if (signal->number == SIGCHLD) continue;
    const bool from_tree =
        signal->sender > 0 && guard_ && os::descends_from(signal->sender, guard_->pid());
    feed(core::SignalArrived{
        .number = signal->number, .from_kernel = signal->from_kernel, .from_tree = from_tree});
  }
}

void Runtime::say_left_behind() {
  say_left_behind_at_ = TimePoint::never();
  const std::vector<pid_t> pids = guard_->survivors();
  if (!pids.empty() && run_.supervision().state() == core::Supervision::State::running) {
    narrator_->on_left_behind(pids);
  }
}

void Runtime::perform(const core::RunEffect& effect) {
  if (const auto* send = std::get_if<core::Send>(&effect)) {
    nodes_.at(send->node.get())->send(send->request, now_);
  } else if (const auto* order = std::get_if<core::Spawn>(&effect)) {
    spawn(*order);
  } else if (const auto* publish = std::get_if<core::Publish>(&effect)) {
    if (guard_) guard_->publish(*publish, now_);
  } else if (const auto* stop = std::get_if<core::StopJob>(&effect)) {
    if (guard_) guard_->stop(*stop);
  } else if (const auto* forward = std::get_if<core::Forward>(&effect)) {
    if (guard_) guard_->forward(*forward);
  } else if (std::holds_alternative<core::KillGuard>(effect)) {
    if (guard_) ::kill(guard_->pid(), SIGKILL);
  } else if (std::holds_alternative<core::KillTree>(effect)) {
    guard_->take_over(now_);
  } else if (std::holds_alternative<core::SuspendSelf>(effect)) {
    // Takes effect before raise() returns; what happened meanwhile is for the next turn.
    ::raise(SIGSTOP);
  } else if (const auto* finish = std::get_if<core::Finish>(&effect)) {
    verdict_ = finish->verdict;
  }
}

void Runtime::spawn(const core::Spawn& order) {
  command_environment_ =
      command_environment(environment_, {.name = options_.name,
                                         .key = options_.key,
                                         .token = attempt_text(order.attempt).token,
                                         .fence = order.fence,
                                         .ttl = options_.timing.ttl});
  command_ = options_.command;
  argv_ = pointers(command_);
  envp_ = pointers(command_environment_);
  guard_spec_ = {.argv = argv_.data(),
                 .envp = envp_.data(),
                 .listen_pid = find_listen_pid(command_environment_),
                 .signals = signals_,
                 .own_group = !shares_terminal_,
                 .stop_signal = options_.stop_signal,
                 .kill_after = options_.timing.kill_after,
                 .kill_margin = options_.timing.kill_margin};
  if (guard_ && guard_->fd() >= 0) loop_.forget(guard_->fd());
  guard_.reset();
  const TimePoint latest_start = order.deadlines.stop - options_.timing.renew_interval;
  guard_ = Guard::start(guard_spec_, order.deadlines, latest_start);
  if (!guard_) {
    feed(core::StartFailed{errno});
    return;
  }
  loop_.watch(guard_->fd(), {.readable = true}, [this](os::Readiness) { guard_ready_ = true; });
}

/// COMMAND has what it inherits; from here nothing of it is kept alive by us.
void Runtime::settle_down() {
  os::close_inherited_descriptors();
  os::let_go_of_surroundings(false);
}

}  // namespace redlock::app
