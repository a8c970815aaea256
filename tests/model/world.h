// The small world: what can happen in a state, and what becomes of it. Checks on the way what the
// rules promise.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/lease_memory.h"
#include "model/rules.h"
#include "model/state.h"

namespace redlock::model {

/// A promise that was broken.
struct Violation {
  Property property = exclusion;
  std::string what;
};

/// How a state was turned to stand for all that are the same but for the names of clients and
/// servers.
struct Turn {
  Permutation order = {0, 1, 2};
  bool swapped = false;
};

class World {
 public:
  explicit World(const Rules& rules);

  State initial() const;
  /// What can happen next.
  void actions(const State& state, std::vector<Action>& list) const;
  /// What can happen next if everybody is told to give back and nothing breaks any more; nothing if
  /// all have ended.
  std::optional<Action> towards_the_end(const State& state) const;
  /// Lets it happen. Says what is broken then, if anything.
  std::optional<Violation> apply(State& state, const Action& action);
  /// Turns the state so that all that differ in names alone become one.
  Turn make_canonical(State& state);
  /// Of this state alone.
  std::optional<Violation> judge(const State& state) const;

  const Rules& rules() const { return rules_; }
  LeaseMemory& memory() { return memory_; }
  /// The inputs that the last action gave to its client, if asked for.
  struct Fed {
    std::uint8_t client;
    LeaseId before;
    std::int32_t age;
    Input input;
    LeaseId after;
  };
  std::vector<Fed>* fed = nullptr;

 private:
  const Facts& facts(const Client& client) const { return memory_.facts(client.lease); }
  bool believes(const Client& client) const;
  /// Whether the bounds of the search let the client only give back from here on.
  bool at_its_bound(const Client& client) const;
  std::int64_t next_tick(const Client& client) const;
  bool may_move_on(const Client& client) const;
  /// How many messages would take time if it passed now.
  std::size_t would_be_late(const State& state) const;
  static bool takes_time(const Client& client, const Link& link, const Message& message);
  std::optional<std::int32_t> next_point(const State& state) const;
  void client_actions(const State& state, std::uint8_t client, std::vector<Action>& list) const;
  void link_actions(const State& state, std::uint8_t client, std::uint8_t node,
                    std::vector<Action>& list) const;
  void reply_actions(const State& state, std::uint8_t node, std::vector<Action>& list) const;
  void server_actions(const State& state, std::uint8_t node, std::vector<Action>& list) const;

  // What becomes of a server, a connection, time.
  void serve_next(std::uint8_t client, std::uint8_t node);
  void serve_ghost(std::uint8_t node, std::uint8_t which);
  void execute(std::uint8_t node, const Ghost& asker, Message& message);
  void cut(std::uint8_t client, std::uint8_t node);
  void connect(std::uint8_t client, std::uint8_t node);
  void leave_unanswered(std::uint8_t client, std::uint8_t node);
  /// What is under way outlives its connection; if that has `broken`, for ever perhaps.
  void make_ghosts(std::uint8_t client, std::uint8_t node, bool broken);
  void drop_idle_ghosts(Server& server) const;
  void restart(std::uint8_t node);
  void pass();

  // What becomes of a client.
  void begin(std::uint8_t client, std::uint8_t floor);
  void end_process(std::uint8_t client, bool killed);
  void take_reply(std::uint8_t client, std::uint8_t node);
  void tick(std::uint8_t client);
  void feed(std::uint8_t client, const Input& input);
  /// Without clocks a release does nothing that expiry could not do.
  bool expires_anyhow(Ask kind) const { return !rules_.timed && kind == Ask::release; }
  bool has_said_all(const Client& client) const;
  void perform(std::uint8_t client, const Effect& effect);
  void send(std::uint8_t client, const Effect& effect);
  void grant(std::uint8_t client, const Effect& effect);
  void check_order(std::uint8_t client, const Effect& effect);
  void check_released_everywhere(std::uint8_t client);
  void break_promise(Property property, std::string what);

  const Rules rules_;
  LeaseMemory memory_;
  State* now_ = nullptr;  ///< while an action is applied
  std::optional<Violation> broken_;
};

/// In the words of a trace; `turn` leads back to the names of the first state.
std::string describe(const Action& action, const State& before, const State& after,
                     const Turn& turn);

}  // namespace redlock::model
