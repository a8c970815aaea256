// What may happen in a world, what is promised in it, and what is broken in it on purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lease.h"

namespace redlock::model {

/// What is checked, as bits.
enum Property : std::uint32_t {
  fence_unique = 1U << 0,    ///< no number is granted twice
  fence_grows = 1U << 1,     ///< granted before another began its attempt: the other's is larger
  fence_order = 1U << 2,     ///< the order of the keys at every shared server is that of numbers
  fence_by_grant = 1U << 3,  ///< with clocks: numbers grow in the order of the grants
  exclusion = 1U << 4,       ///< never do two believe
  belief = 1U << 5,          ///< who believes has its key on a quorum, young servers excused
  foreign_key = 1U << 6,     ///< nobody changes a key that carries another's token
  heal_confirmed =
      1U << 7,              ///< a key is put back after a quorum of others confirmed it, not before
  no_key_left = 1U << 8,    ///< after clean ends; and "released everywhere" is true when said
  one_in_flight = 1U << 9,  ///< a question and a release for each server at most
  no_deadlock = 1U << 10,   ///< something leads on, and no wakeup leads to itself
  all_can_end = 1U << 11,   ///< from every state all clients that are told to give back end
  every_property = (1U << 12) - 1,
};

/// What an environment can do wrong: each makes a promise fail that the search must see.
enum class Mutant {
  none,
  renew_recreates,   ///< a renewal puts a missing key back: a SET without confirmations
  raise_is_a_lie,    ///< a raised counter stays what it was: "INCR and take the largest"
  release_any,       ///< a release deletes whatever key is there
  private_server,    ///< one entry of the list is another server for each client: N/2 is a quorum
  early_expiry,      ///< keys expire earlier than the drift allows
  votes_when_young,  ///< a server that forgot everything votes at once
};

/// Without clocks: how far a client's own moves on while it acquires.
enum class Patience {
  still,       ///< it stands: all servers are waited for
  stragglers,  ///< until those that are late are not waited for any more, once a quorum granted
  any,         ///< until servers count as silent too
};

struct Rules {
  core::LeaseConfig lease;
  /// Clients and servers have one clock; otherwise there is none: the clocks of the clients move
  /// from wakeup to wakeup at any moment, and keys expire at any moment.
  bool timed = false;
  std::uint8_t runs = 1;  ///< for each client, one after the other
  std::uint8_t runs_in_all = 2 * 2;
  std::uint8_t attempts = 1;  ///< for each run
  std::uint8_t rounds = 0;    ///< of renewals for each run
  /// So many messages take time; all others arrive in the moment in which they were sent, in any
  /// order.
  std::uint8_t delays = 0;
  std::uint8_t breaks = 0;
  std::uint8_t restarts = 0;
  std::uint8_t pauses = 0;
  std::uint8_t crashes = 0;
  std::vector<std::uint8_t> floors = {0};
  /// Whoever waits may be told to give back as well, not only who holds or has lost.
  bool gives_back_early = false;
  Patience patience = Patience::stragglers;
  bool follow_order = false;  ///< what fence_order needs
  std::uint32_t properties = every_property;
  Mutant mutant = Mutant::none;
  /// 64 bits for every draw of every lease.
  std::uint64_t chance = 0;
};

}  // namespace redlock::model
