#include "model/search.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::model {
namespace {

Fingerprint fingerprint_of(const State& state) {
  return fingerprint(&state, sizeof(State));
}

/// Nobody lives, or a server did what nobody will hear of.
bool is_over(const State& state) {
  const bool hot = std::any_of(state.places.begin(), state.places.end(),
                               [](const Place& place) { return place.server.hot != 0; });
  return hot || (state.clients[0].lease == 0 && state.clients[1].lease == 0);
}

class Search {
 public:
  Search(const Rules& rules, std::uint64_t most_states) : world_(rules), most_(most_states) {}

  Result run();

 private:
  void visit(std::uint32_t number, const State& state);
  void note_way_to_end(std::uint32_t number, const State& state);
  void check_ways_to_end();
  void fail(std::uint32_t number, const std::optional<Action>& last, const Violation& violation);
  std::vector<std::string> tell(std::vector<Action> way);

  World world_;
  const std::uint64_t most_;
  Visited visited_;
  std::vector<State> level_;
  std::vector<State> next_level_;
  std::vector<Action> actions_;
  /// For each state where it comes to when all are told to give back.
  std::vector<Fingerprint> towards_end_;
  Result result_;
};

Result Search::run() {
  const auto began = std::chrono::steady_clock::now();
  State first = world_.initial();
  world_.make_canonical(first);
  visited_.add(fingerprint_of(first), 0, {});
  level_ = {first};
  std::uint32_t number = 0;
  while (!level_.empty() && !result_.violation && visited_.size() < most_) {
    for (const State& state : level_) {
      visit(number++, state);
      if (result_.violation) break;
    }
    level_.swap(next_level_);
    next_level_.clear();
    if (!level_.empty()) ++result_.depth;
  }
  result_.complete = level_.empty() && !result_.violation;
  if (result_.complete) check_ways_to_end();
  result_.states = visited_.size();
  result_.leases = world_.memory().leases();
  result_.steps = world_.memory().steps();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  result_.seconds = took.count();
  return std::move(result_);
}

void Search::visit(std::uint32_t number, const State& state) {
  if (const auto violation = world_.judge(state)) return fail(number, std::nullopt, *violation);
  world_.actions(state, actions_);
  const bool lives = !is_over(state);
  const bool checks = (world_.rules().properties & no_deadlock) != 0;
  if (actions_.empty() && lives && checks) {
    return fail(number, std::nullopt, {no_deadlock, "nothing leads on"});
  }
  for (const Action& action : actions_) {
    State after = state;
    ++result_.transitions;
    if (const auto violation = world_.apply(after, action)) return fail(number, action, *violation);
    world_.make_canonical(after);
    if (visited_.add(fingerprint_of(after), number, action)) next_level_.push_back(after);
  }
  if ((world_.rules().properties & all_can_end) != 0) note_way_to_end(number, state);
}

void Search::note_way_to_end(std::uint32_t number, const State& state) {
  State after = state;
  if (const std::optional<Action> action = world_.towards_the_end(state)) {
    world_.apply(after, *action);
    world_.make_canonical(after);
  } else if (!is_over(state)) {
    return fail(number, std::nullopt, {all_can_end, "nothing leads to the end"});
  }
  towards_end_.push_back(fingerprint_of(after));
}

/// Each state names its next on the way to the end; who ends names itself. Whatever comes back to
/// its own way goes in a circle.
void Search::check_ways_to_end() {
  if (towards_end_.empty()) return;
  std::vector<std::uint32_t> next;
  next.reserve(towards_end_.size());
  for (const Fingerprint& state : towards_end_) next.push_back(visited_.find(state).value());
  towards_end_ = {};
  constexpr std::uint32_t kUnknown = 0;
  constexpr std::uint32_t kGood = 1;
  std::uint32_t mark = kGood;
  std::vector<std::uint32_t> marks(next.size(), kUnknown);
  for (std::uint32_t first = 0; first < next.size(); ++first) {
    if (marks[first] != kUnknown) continue;
    ++mark;
    std::uint32_t at = first;
    while (marks[at] == kUnknown && next[at] != at) {
      marks[at] = mark;
      at = next[at];
    }
    if (marks[at] == mark) {
      return fail(at, std::nullopt, {all_can_end, "told to give back, they go in a circle"});
    }
    marks[at] = kGood;
    for (at = first; marks[at] != kGood; at = next[at]) marks[at] = kGood;
  }
}

void Search::fail(std::uint32_t number, const std::optional<Action>& last,
                  const Violation& violation) {
  std::vector<Action> way = visited_.way_to(number);
  if (last) way.push_back(*last);
  result_.violation = violation;
  result_.trace = tell(std::move(way));
  result_.trace.push_back("=> " + violation.what);
}

std::vector<std::string> Search::tell(std::vector<Action> way) {
  std::vector<std::string> lines;
  State state = world_.initial();
  world_.make_canonical(state);
  Turn names;
  for (const Action& action : way) {
    State after = state;
    world_.apply(after, action);
    lines.push_back(describe(action, state, after, names));
    const Turn turn = world_.make_canonical(after);
    Turn next;
    for (std::size_t i = 0; i < kNodes; ++i) next.order[i] = names.order[turn.order[i]];
    next.swapped = names.swapped != turn.swapped;
    names = next;
    state = after;
  }
  return lines;
}

}  // namespace

Result search(const Rules& rules, std::uint64_t most_states) {
  return Search(rules, most_states).run();
}

}  // namespace redlock::model
