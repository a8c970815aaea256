// What must hold in every world, whatever goes wrong in it (but see plan.h for what is assumed).
// The inhabitants report what they do; after every event the checks look at all that can be seen
// from outside, which no party of the real world could.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/supervision.h"
#include "sim/node.h"
#include "sim/schedule.h"

namespace redlock::sim {

class Host;
class World;

enum class Check {
  exclusion,   ///< no two jobs live at once, those of fronts that were killed included
  belief,      ///< who believes in a lease has a quorum of keys; servers that forgot are excused
               ///< until the holder can know
  early,       ///< no job before its lease was granted
  outlived,    ///< no job is alive at the end of its lease, or a kill margin after bad news of it
  foreign,     ///< a key is never deleted, extended or overwritten by another run than its own
  left,        ///< after a clean end no server in reach keeps the run's key
  heal,        ///< a key is put back only with the confirmations of lease.h, invariant (6)
  fencing,     ///< tokens grow from entry to entry; plan.h says when
  owed,        ///< a server owes a run at most one answer to a question and one to a release
  pace,        ///< requests under a held lease: see kQuestionsMost and kCalmQuestionsMost
  storm,       ///< a front does not wake up again and again for nothing: see kIdleTurnsMost
  wait,        ///< a wait that is limited ends in time
  liveness,    ///< once nothing is wrong, a free lock is taken within progress_limit()
  false_loss,  ///< calm worlds: no lease is lost
  ends_early,  ///< no run ends before its job
};
inline constexpr int kChecks = 15;

/// The short name.
const char* name_of(Check check);

struct Violation {
  Check check = Check::exclusion;
  std::string text;
};

class Checks {
 public:
  explicit Checks(World& world) : world_(world) {}

  const std::vector<Violation>& violations() const { return violations_; }
  /// For what only a driver can see.
  void violate(Check check, const std::string& text);
  /// After every event.
  void after_step();
  /// Within this time a lock that is free, and wanted, is taken.
  Duration progress_limit() const;

  // Told by hosts and guards.
  void run_begins(const Host& host);
  void granted(const Host& host);
  /// Nothing can save its job any more.
  void run_ends(const Host& host, const core::Verdict& verdict);
  void job_begins(const Host& host, std::uint64_t fence);
  void job_ends(const Host& host);
  void turn_taken(const Host& host, std::uint64_t inputs, std::uint64_t effects);
  void request_is_sent(const Host& host, std::size_t entry, const Message& message);
  void answer_is_heard(const Host& host, const core::NodeAnswer& answer);

  // Told by servers, before they act.
  void executes(Node& node, const Message& message);
  void key_is_set(Node& node, const Message& message);
  void key_is_dropped(Node& node, std::uint64_t by);
  void memory_is_lost(Node& node);

 private:
  /// What is known of one server with regard to a run.
  struct Standing {
    TimePoint missing = TimePoint::past();    ///< sent: the last renewal that found no key of it
    TimePoint confirmed = TimePoint::past();  ///< sent: the last request that renewed its key
    core::Attempt carried;                    ///< the last attempt whose key it had
    std::vector<core::Request> owed;          ///< unanswered
    std::deque<TimePoint> questions;          ///< under the held lease, within the last ttl
  };
  /// The current run of a host.
  struct Watched {
    bool granted = false;
    std::vector<Standing> standing;  ///< one for each server of the world
    std::deque<TimePoint> idle_turns;
  };
  /// What a server has forgotten and a holder may still count on.
  struct Ghost {
    std::uint64_t run = 0;
    core::Attempt attempt;
    TimePoint expires;
  };

  void check_belief(const Host& host);
  void check_job(const Host& host);
  void check_progress();
  void check_owed(const Host& host, Standing& standing, const Message& message);
  void check_pace(const Host& host, Standing& standing);
  void check_confirmations(const Host& host, std::size_t node, TimePoint since);
  void check_wait(const Host& host, const core::Verdict& verdict);
  void check_left(const Host& host);
  void check_loss(const Host& host);
  bool fencing_applies(const Host& host) const;
  std::size_t keys_of(const Host& host, bool with_ghosts);
  bool has_ghost(std::size_t node, std::uint64_t run, core::Attempt attempt);
  void forget_ghost(std::size_t node, std::uint64_t run);
  Watched& of(const Host& host);

  World& world_;
  std::vector<Violation> violations_;
  std::map<std::size_t, Watched> watched_;
  std::map<std::size_t, std::vector<Ghost>> ghosts_;
  std::optional<std::size_t> working_;  ///< the host whose job lives
  std::uint64_t last_fence_ = 0;
  TimePoint last_entry_ = TimePoint::past();
  bool counter_lost_ = false;
  TimePoint idle_since_ = TimePoint::never();  ///< the lock is wanted and nobody has it
};

}  // namespace redlock::sim
