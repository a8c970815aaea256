#include "chaos/contender.h"

#include <utility>

#include "support/process.h"

namespace redlock::chaos {
namespace {

/// Shapes of children that end by themselves; see probe.cpp.
const std::vector<std::string> kShapes{"child", "deaf", "session", "daemon", "orphan"};

/// Most jobs are short, some outlast the faults.
std::int64_t job_ms(Dice& dice) {
  const std::int64_t kind = roll(dice, 1, 30);
  if (kind <= 24) return roll(dice, 10, 150);
  if (kind <= 29) return roll(dice, 150, 1'000);
  return roll(dice, 2'500, 4'000);
}

}  // namespace

std::int64_t roll(Dice& dice, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(dice);
}

bool one_in(Dice& dice, std::int64_t in) {
  return roll(dice, 1, in) == 1;
}

Contender::Contender(std::string name, const test::Quorum& quorum, std::vector<std::string> options,
                     std::string log, std::uint64_t seed)
    : name_(std::move(name)),
      quorum_(quorum),
      options_(std::move(options)),
      log_(std::move(log)),
      dice_(seed) {}

std::vector<std::string> Contender::next_job() {
  const std::string run = current_.name;
  const std::int64_t length = job_ms(dice_);
  std::vector<std::string> actions{"enter", log_, run};
  const auto add = [&actions](const std::vector<std::string>& more) {
    actions.insert(actions.end(), more.begin(), more.end());
  };
  if (one_in(dice_, 3)) add({"ignore", "15"});
  add({"children-live", std::to_string(length)});
  while (one_in(dice_, 3)) {
    const auto last = static_cast<std::int64_t>(kShapes.size()) - 1;
    add({"spawn", kShapes[static_cast<std::size_t>(roll(dice_, 0, last))], log_, run});
  }
  add({"beat", log_, run, std::to_string(length), "gather", "leave", log_, run, "exit", "11"});
  return actions;
}

void Contender::start() {
  current_ = {.name = name_ + "." + std::to_string(++runs_),
              .started = test::boottime_ns(),
              .ended = 0,
              .how = "",
              .err = "",
              .due = {}};
  run_.emplace(probe_job(quorum_, options_, next_job()).start());
}

void Contender::tick(std::vector<RunRecord>& done) {
  if (run_ && run_->ended()) {
    current_.ended = test::boottime_ns();
    current_.how = run_->wait().how;
    current_.err = run_->wait().err;
    done.push_back(current_);
    run_.reset();
  }
  if (!run_ && !resting_) start();
}

pid_t Contender::guard() const {
  if (!run_) return -1;
  for (const pid_t child : test::children_of(run_->pid())) {
    const auto stat = test::process_stat(child);
    if (stat && stat->name == "redlock-guard") return child;
  }
  return -1;
}

}  // namespace redlock::chaos
