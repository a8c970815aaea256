// The lease: acquire, keep, give back one lock over N servers that know nothing of each other.
// N = 1 is the same code. Pure: the same inputs give the same effects; no clock, socket or chance
// but the injected Draw. Algorithm: the Redlock page of the Redis documentation, made exact by a
// lease end for each server (core/validity.h) instead of one time for the whole round.
//
// Invariants
// (1) Whoever is told Granted held a quorum of servers with the same attempt when it was said, and
//     valid_until() never lies after the Q-th largest lease end.
// (2) A server has at most one acquire or renew of ours unanswered, and behind it at most one
//     release. Not answering is not a reason to ask again: the late answer is still an answer.
// (3) A server that may carry our key is sent a release behind everything that could have set it,
//     before the lease gives up, pauses or ends. Silence and errors count as "may carry".
// (4) An attempt has its own token, so a late release never touches a later attempt.
// (5) Lost is final: nothing is acquired or renewed after it.
// (6) A key that a server has lost is put back (heal) only where it is missing, and only after a
//     quorum of other servers has confirmed the lease by requests sent no earlier than the one that
//     found it missing, over a connection that stands. A server that never had it is asked to take
//     it while the lease is valid, unless it is so young that it may have forgotten a rival.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/draw.h"
#include "core/node_io.h"
#include "core/timing.h"
#include "core/validity.h"

namespace redlock::model {
class LeaseText;  // the exhaustive search in tests/model has to see when two states are equal
}

namespace redlock::core {

struct LeaseConfig {
  std::size_t nodes = 1;
  Timing timing;
  /// How long to keep trying while the lock is not to be had. Zero: say so at the first verdict of
  /// a quorum. Infinite: for ever.
  Duration wait;
};

/// Why a lock was not obtained.
enum class Refusal {
  held,           ///< a quorum said that one other has it
  contended,      ///< so many servers are held by this one and that one that nobody got a quorum
  unavailable,    ///< too few servers answered, or were able to grant it
  denied,         ///< credentials or rights are missing on too many servers
  misconfigured,  ///< too many of the servers are none that can hold a lock
};

/// Why a lease that was held is none any more.
enum class Loss {
  expired,  ///< it could not be renewed in time
  foreign,  ///< somebody else's token is on too many servers
  gone,     ///< the key vanished from too many servers
};

// Inputs. Begin comes first and once.
struct Begin {};
/// The connection to a server stands (`up`): what it has not answered is on the wire since now.
struct NodeLink {
  NodeIndex node;
  bool up = false;
  /// Perhaps a mistake in the list, such as a server that stands there twice: its answer is waited
  /// for even when a quorum has granted.
  bool doubtful = false;
};
struct NodeAnswer {
  NodeIndex node;
  RequestId request;
  Outcome outcome;
};
/// Give everything back, whatever is going on; for at most `limit`.
struct GiveBack {
  Duration limit;
};
/// The job could not be started in time: give back what is held and begin again.
struct TryAgain {};
/// End at once and leave the rest to the ttl.
struct Abandon {};
/// The wall clock has moved so much further than ours since the last turn: somebody set it, or this
/// machine stood still without our clock noticing.
struct TimeSlipped {
  Duration missed;
};
/// Nothing happened but time.
struct Tick {};

using LeaseInput =
    std::variant<Begin, NodeLink, NodeAnswer, GiveBack, TryAgain, Abandon, TimeSlipped, Tick>;

// Effects.
struct Send {
  NodeIndex node;
  Request request;
};
/// The lease is held, with at least one renewal interval left before the stop line.
struct Granted {
  Attempt attempt;
  TimePoint valid_until;
  FencingToken fence;
};
/// valid_until moved; never backwards but when servers were lost.
struct Extended {
  TimePoint valid_until;
};
struct Lost {
  Loss why;
};
struct GaveUp {
  Refusal why;
};
/// Ended after GiveBack: `everywhere` if no server can still carry our key, `free` if at least a
/// quorum does not, so that the next may have the lock; `untouched` if on each server the key was
/// still ours (or never had been).
struct Released {
  bool everywhere = true;
  bool free = true;
  bool untouched = true;
};

using LeaseEffect = std::variant<Send, Granted, Extended, Lost, GaveUp, Released>;
using LeaseEffects = std::vector<LeaseEffect>;

/// What one server said last, for messages.
struct NodeReport {
  Answer answer = Answer::unknown;
  Duration remaining;
  std::string holder;
  std::string holder_id;
  std::string reason;
  /// The connection stood and the answer did not come within node_timeout.
  bool silent = false;
  /// Asked how long it has been up, it may not say.
  bool uptime_hidden = false;
  /// When it was said.
  TimePoint said;
  /// Since when it owes a useful answer: the first of the requests in a row that are unanswered or
  /// ended in an error. never() if it owes none.
  TimePoint wanting_since = TimePoint::never();
  /// Another entry of the list that turned out to be this very server.
  std::optional<NodeIndex> twin;
};

class Lease {
  friend class model::LeaseText;

 public:
  enum class State {
    idle,       ///< before Begin
    acquiring,  ///< an attempt is on its way
    clearing,   ///< a failed attempt is being undone
    pausing,    ///< until the next attempt
    held,       ///< granted, renewing
    lost,       ///< no longer held; waits to be told to give back what is left
    releasing,  ///< giving back
    ended,      ///< nothing more will happen; every input is ignored
  };

  /// `draw` must outlive the lease.
  Lease(const LeaseConfig& config, const Draw& draw);

  /// Takes one input at the time `now`, which never goes backwards, and returns what to do about
  /// it, in order.
  [[nodiscard]] LeaseEffects step(TimePoint now, const LeaseInput& input);
  /// When step(Tick) has something to do if nothing else happens before.
  TimePoint wakeup() const;

  State state() const { return state_; }
  const LeaseConfig& config() const { return config_; }
  /// past() unless a quorum holds our token.
  TimePoint valid_until() const;
  const NodeReport& report(NodeIndex node) const { return nodes_.at(node.get()).report; }
  /// What was said of the holder last, if anybody was seen to hold the lock.
  const std::optional<NodeReport>& last_held() const { return last_held_; }

 private:
  struct Flight {
    RequestId id;
    RequestKind kind = RequestKind::acquire;
    Attempt attempt;
    FencingToken fence;
    TimePoint sent;
    /// When the bytes could leave; never() until the connection stands.
    TimePoint on_wire = TimePoint::never();
  };
  struct NodeState {
    bool up = false;
    bool doubtful = false;           ///< perhaps a mistake in the list
    std::optional<Flight> question;  ///< an acquire, heal or renew
    std::optional<Flight> giving_back;
    bool holds = false;        ///< has our token of this attempt, as far as we know
    bool may_carry = false;    ///< may have stored a token of ours, as far as we know
    Attempt carried;           ///< the attempt whose token it may carry
    bool answered = false;     ///< has spoken in this attempt
    bool denies = false;       ///< held: was asked to renew the key and did not have it
    bool foreign = false;      ///< held: and it was foreign
    bool hopeless = false;     ///< giving back: will not take a release from us
    bool try_failed = false;   ///< giving back: one release came to nothing
    FencingToken counter;      ///< its fencing counter, as far as we know
    FencingToken raise_asked;  ///< acquiring: was asked to raise its counter to this
    TimePoint lease_end = TimePoint::past();
    TimePoint confirmed = TimePoint::past();  ///< when the last renewal that it granted was sent
    /// When the request was sent that found our key lost, or the server too young to vote; past()
    /// if neither was found.
    TimePoint missing = TimePoint::past();
    std::uint64_t renewed_in = 0;                 ///< the last round in which it was asked to renew
    std::uint64_t healed_in = 0;                  ///< the last round in which it was asked to heal
    int errors = 0;                               ///< in a row
    TimePoint ask_again_at = TimePoint::never();  ///< after an error, and for a release
    std::string server;
    NodeReport report;
  };

  void on(const Begin&);
  void on(const NodeLink& link);
  void on(const NodeAnswer& answer);
  void on(const GiveBack& give_back);
  void on(const TryAgain&);
  void on(const Abandon&);
  void on(const TimeSlipped& slip);
  void on(const Tick&);

  // Acquiring (lease_acquire.cpp).
  void begin_attempt();
  void ask_acquire(std::size_t node);
  void note_acquire_answer(std::size_t node, const Flight& flight, const Outcome& outcome);
  void take(NodeState& node, const Flight& flight, const Outcome& outcome);
  void mark_silent();
  TimePoint silent_at(const NodeState& node) const;
  void judge_attempt();
  bool list_is_wrong();
  void grant_or_raise();
  void ask_to_raise(std::size_t node);
  bool waits_for_stragglers();
  void grant();
  void fail_attempt(Refusal why, bool undecided);
  void finish_clearing();
  Refusal refusal_of_votes() const;
  std::size_t held_by_one() const;
  bool worth_another_try() const;
  Duration until_quorum_expires() const;
  TimePoint acquiring_wakeup() const;

  // Holding (lease_hold.cpp).
  void keep_up();
  void begin_round();
  Duration least_between_rounds() const;
  void note_renew_answer(NodeState& node, const Flight& flight, const Outcome& outcome);
  void note_heal_answer(std::size_t node, const Flight& flight, const Outcome& outcome);
  void ask_again_later(NodeState& node);
  std::size_t confirmations(const NodeState& missing) const;
  bool may_heal(const NodeState& node) const;
  bool is_due_for_healing(const NodeState& node) const;
  RequestKind kind_of_wish(const NodeState& node) const;
  void want_confirmations(const Flight& found_missing);
  void judge_lease(TimePoint before);
  TimePoint held_wakeup() const;

  // Giving back (lease_release.cpp).
  void begin_giving_back(TimePoint end, Duration patience);
  void give_back_due();
  static bool needs_release(const NodeState& node);
  void note_release_answer(NodeState& node, const Flight& flight, const Outcome& outcome);
  bool nothing_to_wait_for() const;
  bool is_laggard(const NodeState& node) const;
  Duration patience_most() const;
  void finish_releasing();
  TimePoint giving_back_wakeup() const;

  static bool sets_key(RequestKind kind);
  void send(std::size_t node, RequestKind kind, Attempt attempt);
  static void note_on_wire(NodeState& node, const Flight& flight);
  void note_said(NodeState& node, const Outcome& outcome) const;
  /// The other entry of the list that is the same server as `node`, if one is known to be.
  std::optional<std::size_t> twin_of(std::size_t node) const;
  Duration retry_pause() const;
  std::size_t quorum() const { return quorum_of(nodes_.size()); }

  const LeaseConfig config_;
  const Draw& draw_;
  State state_ = State::idle;
  TimePoint now_ = TimePoint::past();
  std::vector<NodeState> nodes_;
  std::uint64_t next_request_ = 1;
  Attempt attempt_;
  TimePoint attempt_began_ = TimePoint::past();
  /// A quorum has granted: until here those that have not answered are still listened to.
  TimePoint stragglers_until_ = TimePoint::never();
  FencingToken fence_;
  Backoff backoff_;
  /// Held: counts the rounds of renewals; the acquisition is round 0.
  std::uint64_t round_ = 0;
  TimePoint round_began_ = TimePoint::past();
  TimePoint next_round_at_ = TimePoint::never();
  TimePoint give_up_at_ = TimePoint::never();
  /// -n: an undecided vote is tried again until here.
  TimePoint undecided_until_ = TimePoint::never();
  /// The end of the current clearing, pausing or releasing.
  TimePoint phase_end_ = TimePoint::never();
  /// Giving back: from here on laggards are not waited for, once a quorum is free.
  TimePoint patient_until_ = TimePoint::never();
  Refusal last_refusal_ = Refusal::unavailable;
  /// The last attempt ended without a verdict of a quorum although enough servers are there.
  bool undecided_ = false;
  /// Some quorum of this wait said held; what it said stands until the wait runs out.
  bool seen_held_ = false;
  bool untouched_ = true;
  std::optional<NodeReport> last_held_;
  LeaseEffects effects_;
};

}  // namespace redlock::core
