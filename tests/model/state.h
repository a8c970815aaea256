// One state of the small world, as plain bytes: two clients, three servers, and what is under way
// between them. Equal bytes are equal states; there is no padding and no absolute time.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "model/lease_memory.h"

namespace redlock::model {

inline constexpr std::size_t kClients = 2;
/// More runs than this one client does not have, over one search.
inline constexpr std::size_t kRuns = 2;
inline constexpr std::int32_t kLongAgo = 1'500'000'000;

enum class Stage : std::uint8_t {
  none,     ///< no message
  waiting,  ///< for a connection
  wire,     ///< on its way to the server
  reply,    ///< executed; the reply is on its way back
};

/// core::RequestKind in one byte.
enum class Ask : std::uint8_t { acquire, heal, renew, release };

/// A request, and once it is executed its reply.
struct Message {
  Stage stage = Stage::none;
  Ask kind = Ask::acquire;
  std::uint8_t attempt = 0;
  std::uint8_t fence = 0;
  std::uint8_t answer = 0;
  std::uint8_t number = 0;
  std::uint8_t raised = 0;
  std::uint8_t holder = 0;
  std::int32_t remaining = 0;
  std::uint8_t slow = 0;  ///< time has passed since it was sent
  std::uint8_t unused[3] = {};
};

/// One client's connection to one server: first in, first out.
struct Link {
  std::uint8_t up = 1;
  /// The server has restarted and the client does not know: nothing arrives there any more, replies
  /// that were on their way still do.
  std::uint8_t dead = 0;
  std::uint16_t unused = 0;
  std::array<Message, 2> messages{};
  /// How long ago the client sent what confirmed its key here last, and what found it missing.
  std::int32_t confirmed = kLongAgo;
  std::int32_t missing = kLongAgo;
};

/// A request that outlived its connection, or its process: the server may still execute it, or not.
struct Ghost {
  std::uint8_t present = 0;  ///< 2: and slow
  std::uint8_t client = 0;
  std::uint8_t run = 0;
  std::uint8_t connection = 0;  ///< ghosts of one connection keep their order
  std::uint8_t floor = 0;
  Ask kind = Ask::acquire;
  std::uint8_t attempt = 0;
  std::uint8_t fence = 0;
};

inline constexpr std::size_t kGhosts = 6;

struct Server {
  std::uint8_t owner = 0;  ///< 0: no key; else client + 1
  std::uint8_t run = 0;
  std::uint8_t attempt = 0;
  std::uint8_t counter = 0;
  std::int32_t remaining = 0;
  std::int32_t young = 0;  ///< grants no acquire for so long
  std::array<Ghost, kGhosts> ghosts{};
  /// The runs in the order in which their keys were set, and which of them were granted with this
  /// server among those that count for the fencing number (bits). See tag_of().
  std::array<std::uint8_t, kClients * kRuns> order{};
  std::uint8_t counted = 0;
  /// Has done something that nobody has heard of yet; see World::actions().
  std::uint8_t hot = 0;
  std::uint16_t unused = 0;
};

/// One server and everybody's relation to it.
struct Place {
  std::array<std::uint32_t, kClients> views{};  ///< what the clients know of it
  std::array<Link, kClients> links{};
  Server server;
};

struct Client {
  LeaseId lease = 0;     ///< 0: no process
  std::int32_t age = 0;  ///< since the lease's last step
  std::uint8_t run = 0;
  std::uint8_t floor = 0;
  std::uint8_t must_exceed = 0;  ///< the largest fencing number granted before this attempt began
  std::uint8_t paused = 0;
};

struct State {
  std::array<Client, kClients> clients{};
  std::array<Place, kNodes> places{};
  std::uint32_t granted = 0;  ///< the fencing numbers that were granted, as bits
  /// The numbers of the runs, by tag, if the order at the servers is followed.
  std::array<std::uint8_t, kClients * kRuns> numbers{};
  std::uint8_t breaks = 0;  ///< how many are left
  std::uint8_t restarts = 0;
  std::uint8_t pauses = 0;
  std::uint8_t crashes = 0;
  std::uint8_t untidy = 0;  ///< something broke: keys may be left until their ttl
  std::uint8_t delays = 0;
  std::uint8_t unused[2] = {};
};

static_assert(std::has_unique_object_representations_v<State>, "compared byte by byte");

/// One run of one client, from 0.
constexpr std::uint8_t tag_of(std::size_t client, std::uint8_t run) {
  return static_cast<std::uint8_t>(client * kRuns + run - 1);
}

struct Action {
  enum Kind : std::uint8_t {
    begin,        ///< arg: the least fencing number, by its clock
    serve,        ///< the server executes the next request of a client
    reply,        ///< the client gets the next reply of a server
    serve_ghost,  ///< arg: which
    tick,         ///< a client's wakeup
    give_back,    ///< a client has been told to give back
    crash,        ///< a client's process is killed
    cut,          ///< the connection breaks
    connect,      ///< what waits for a connection gets one
    no_connect,   ///< or none
    notice,       ///< the client notices that the server has restarted
    restart,      ///< the server forgets everything
    expire,       ///< the key runs out now, whatever its ttl was
    pass,         ///< time passes, to the next point that matters
    pause,        ///< the client stands still
    resume,
  };
  Kind kind = pass;
  std::uint8_t client = 0;
  std::uint8_t node = 0;
  std::uint8_t arg = 0;
};

}  // namespace redlock::model
