#include "sim/host.h"

#include <algorithm>
#include <utility>

#include "sim/world.h"

namespace redlock::sim {
namespace {

/// Some day after 2001, in ms: wall clocks are far ahead of what counters reach by counting.
constexpr std::int64_t kWallEpoch = 1'000'000'000'000;

}  // namespace

Host::Host(World& world, std::size_t i, Clock clock, Duration wall_skew)
    : index(i),
      front(world.schedule),
      guard(world, *this),
      world_(world),
      clock_(clock),
      wall_skew_(wall_skew),
      draw_([&world] { return world.chance.draw(); }) {}

TimePoint Host::local() const {
  return clock_.read(world_.schedule.now());
}

std::uint64_t Host::wall_ms() const {
  const Duration true_time = world_.schedule.now() - TimePoint();
  return static_cast<std::uint64_t>(kWallEpoch + (true_time + wall_skew_).ms());
}

bool Host::reaches_twice(std::size_t entry) const {
  return std::any_of(links.begin(), links.end(), [&](const auto& link) {
    return link != links[entry] && link->up() && link->node() == links[entry]->node();
  });
}

void Host::begin(const Command& command) {
  command_ = command;
  run_id_ = world_.next_run();
  world_.note(index, "starts run %v", Trace::kNobody, run_id_);
  ++world_.counts.runs;
  core::RunConfig config;
  config.lease = {.nodes = links.size(), .timing = world_.plan.timing, .wait = command.wait};
  config.supervision.timing = world_.plan.timing;
  config.supervision.max_run = command.max_run;
  config.supervision.kill_after_signal = command.kill_after_signal;
  inbox_.clear();
  floors_.clear();
  front.end();
  was_paused_ = false;
  verdict.reset();
  ended = TimePoint::never();
  attempt_ = core::Attempt();
  began_ = world_.schedule.now();
  run_ = std::make_unique<core::Run>(config, draw_);
  world_.checks.run_begins(*this);
  if (world_.plan.broken.starts_before_granted) guard.start_unasked(command.job);
  feed(core::Begin{});
  schedule_turn();
}

void Host::give(core::RunInput input) {
  if (!run_) return;
  inbox_.push_back(std::move(input));
  schedule_turn();
}

void Host::schedule_turn() {
  if (!run_) return;
  const std::uint64_t number = ++turn_number_;
  const auto take_turn = [this, number] {
    front.when_awake([this, number] {
      if (number == turn_number_) turn();
    });
  };
  if (!inbox_.empty()) return world_.schedule.at(world_.schedule.now(), take_turn);
  TimePoint when = clock_.when(run_->wakeup());
  if (when.is_never()) return;
  if (world_.plan.broken.timers_fire_at_once) {
    when = std::min(when, world_.schedule.now() + Duration::milliseconds(5));
  }
  world_.schedule.at(
      std::max(when, world_.schedule.now()) + world_.chance.up_to(world_.plan.front_late_most),
      take_turn);
}

/// As Runtime::turn() does.
void Host::turn() {
  if (!run_) return;
  const std::uint64_t inputs = inbox_.size();
  effects_ = 0;
  feed(core::Tick{});
  while (run_ && !inbox_.empty()) {
    const core::RunInput input = std::move(inbox_.front());
    inbox_.pop_front();
    feed(input);
  }
  if (run_) feed(core::Tick{});
  world_.checks.turn_taken(*this, inputs, effects_);
  schedule_turn();
}

void Host::feed(const core::RunInput& input) {
  if (const auto* answer = std::get_if<core::NodeAnswer>(&input)) {
    world_.checks.answer_is_heard(*this, *answer);
  }
  ++world_.counts.steps;
  const core::RunEffects effects = run_->step(local(), input);
  const core::Lease::State state = run_->lease().state();
  const bool believes = state == core::Lease::State::acquiring || state == core::Lease::State::held;
  believes_until_ = believes ? run_->lease().valid_until() : TimePoint::past();
  for (const core::RunEffect& effect : effects) {
    ++effects_;
    note_effect(effect);
    perform(effect);
    if (!run_) return;
  }
}

void Host::note_effect(const core::RunEffect& effect) {
  if (const auto* granted = std::get_if<core::Granted>(&effect)) {
    world_.note(index, "has the lease, fencing token %v", Trace::kNobody, granted->fence.get());
    world_.checks.granted(*this);
  } else if (const auto* lost = std::get_if<core::Lost>(&effect)) {
    static constexpr const char* kWords[] = {"loses its lease: expired",
                                             "loses its lease: taken by others",
                                             "loses its lease: the keys are gone"};
    world_.note(index, kWords[static_cast<int>(lost->why)]);
  } else if (std::holds_alternative<core::Released>(effect)) {
    world_.note(index, "has given the lease back");
  }
}

void Host::perform(const core::RunEffect& effect) {
  if (const auto* out = std::get_if<core::Send>(&effect)) {
    send(*out);
  } else if (const auto* spawn = std::get_if<core::Spawn>(&effect)) {
    guard.start(*spawn, command_.job);
  } else if (const auto* publish = std::get_if<core::Publish>(&effect)) {
    guard.publish(*publish);
  } else if (const auto* stop = std::get_if<core::StopJob>(&effect)) {
    guard.stop(*stop);
  } else if (const auto* forward = std::get_if<core::Forward>(&effect)) {
    guard.forward(*forward);
  } else if (std::holds_alternative<core::KillGuard>(effect)) {
    guard.kill();
  } else if (std::holds_alternative<core::KillTree>(effect)) {
    guard.kill_tree();
  } else if (const auto* over = std::get_if<core::Finish>(&effect)) {
    finish(over->verdict);
  }
}

void Host::send(const core::Send& out) {
  static constexpr const char* kWords[] = {
      "asks node %n for the key (attempt %v)", "puts the key back on node %n (attempt %v)",
      "renews the key on node %n (attempt %v)", "releases the key on node %n (attempt %v)"};
  const std::size_t number = out.request.attempt.get();
  Link& link = *links.at(out.node.get());
  world_.note(index, kWords[static_cast<int>(out.request.kind)], link.node(), number);
  if (floors_.size() < number) {
    floors_.resize(number, wall_ms());
    attempt_ = out.request.attempt;
    attempt_began_ = world_.schedule.now();
  }
  const Message message{out.request, run_id_, world_.schedule.now(), floors_[number - 1]};
  world_.checks.request_is_sent(*this, out.node.get(), message);
  link.send(message);
}

void Host::finish(const core::Verdict& what) {
  static constexpr const char* kWords[] = {"ends: exit status %v", "ends: killed by signal %v",
                                           "ends: held elsewhere", "ends: no quorum",
                                           "ends: denied",         "ends: misconfigured",
                                           "ends: interrupted",    "ends: not executable",
                                           "ends: not started",    "ends: max-run",
                                           "ends: lost",           "ends: survivors"};
  world_.note(index, kWords[static_cast<int>(what.ending)], Trace::kNobody,
              static_cast<std::uint64_t>(what.value));
  verdict = what;
  world_.checks.run_ends(*this, what);
  end_run();
}

void Host::end_run() {
  for (const auto& link : links) link->close();
  run_.reset();
  believes_until_ = TimePoint::past();
  ++turn_number_;
  ended = world_.schedule.now();
  world_.run_is_over(*this);
}

void Host::kill_front() {
  if (!run_) return;
  world_.note(index, "its front is killed");
  ++world_.counts.deaths;
  front.end();
  if (!guard.exists()) return end_run();
  for (const auto& link : links) link->close();
  run_.reset();
  believes_until_ = TimePoint::past();
  ++turn_number_;
  guard.front_gone();
}

void Host::guard_ended() {
  end_run();
}

void Host::signal(int number) {
  world_.note(index, "gets signal %v", Trace::kNobody, static_cast<std::uint64_t>(number));
  give(core::SignalArrived{.number = number});
}

void Host::slip(Duration span) {
  world_.note(index, "finds its wall clock %v ms ahead", Trace::kNobody,
              static_cast<std::uint64_t>(span.ms()));
  give(core::TimeSlipped{span});
}

void Host::pause_front(TimePoint until) {
  world_.note(index, "its front is stopped");
  was_paused_ = true;
  front.pause(until);
}

}  // namespace redlock::sim
