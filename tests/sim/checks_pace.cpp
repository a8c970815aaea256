// Checks of effort: how much a run may ask, and how often it may wake up.
#include <algorithm>

#include "sim/checks.h"
#include "sim/host.h"
#include "sim/world.h"

namespace redlock::sim {
namespace {

/// Questions to one server under a held lease within one ttl, whatever happens. The shortest pause
/// after an error, and between rounds that are begun early, is ttl/50; where a server keeps failing
/// the pauses grow. A question that finds the key missing is followed by one that puts it back.
constexpr std::size_t kQuestionsMost = 50;
/// The same when nothing has been wrong for long: three rounds and their edges, with one that finds
/// the key missing, or with the pauses, twice as long each time, after which a server that a rival
/// holds is asked again.
constexpr std::size_t kCalmQuestionsMost = 12;
/// Turns in a second in which a front neither had anything to hear nor anything to do: what has
/// become of a deadline that moved. Deadlines move with renewals and answers, so that even many
/// servers make it a few.
constexpr std::size_t kIdleTurnsMost = 40;

void slide(std::deque<TimePoint>& window, TimePoint now, Duration span) {
  window.push_back(now);
  while (window.front() < now - span) window.pop_front();
}

}  // namespace

void Checks::request_is_sent(const Host& host, std::size_t entry, const Message& message) {
  Standing& standing = of(host).standing[entry];
  check_owed(host, standing, message);
  const bool held = message.request.kind == core::RequestKind::renew ||
                    message.request.kind == core::RequestKind::heal;
  if (held) check_pace(host, standing);
  const std::size_t node = host.links[entry]->node();
  TimePoint& missing = of(host).standing[node].missing;
  if (message.request.kind == core::RequestKind::acquire) missing = TimePoint::past();
  if (message.request.kind != core::RequestKind::heal) return;
  ++world_.counts.heals;
  // Only what was lost is put back with care; what never had the key may take it at any time.
  if (missing > TimePoint::past()) check_confirmations(host, node, missing);
}

void Checks::check_owed(const Host& host, Standing& standing, const Message& message) {
  const bool release = message.request.kind == core::RequestKind::release;
  const bool twice =
      std::any_of(standing.owed.begin(), standing.owed.end(), [release](const core::Request& owed) {
        return (owed.kind == core::RequestKind::release) == release;
      });
  standing.owed.push_back(message.request);
  if (twice) violate(Check::owed, host_name(host.index) + " asks a server that owes an answer");
}

void Checks::check_pace(const Host& host, Standing& standing) {
  const Duration ttl = world_.plan.timing.ttl;
  const TimePoint now = world_.schedule.now();
  slide(standing.questions, now, ttl);
  const std::size_t count = standing.questions.size();
  world_.counts.questions_most = std::max(world_.counts.questions_most, count);
  const bool calm = world_.calm_since() + ttl * 3 < now;
  if (calm) world_.counts.calm_questions_most = std::max(world_.counts.calm_questions_most, count);
  if (count > (calm ? kCalmQuestionsMost : kQuestionsMost)) {
    violate(Check::pace, host_name(host.index) + " asks one server too often");
  }
}

void Checks::turn_taken(const Host& host, std::uint64_t inputs, std::uint64_t effects) {
  if (inputs > 0 || effects > 0) return;
  std::deque<TimePoint>& turns = of(host).idle_turns;
  slide(turns, world_.schedule.now(), Duration::seconds(1));
  world_.counts.idle_turns_most = std::max(world_.counts.idle_turns_most, turns.size());
  if (turns.size() > kIdleTurnsMost) {
    violate(Check::storm, host_name(host.index) + " wakes up again and again for nothing");
  }
}

}  // namespace redlock::sim
