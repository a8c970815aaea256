// What a world is made of and what may happen in it. Everything else follows from the seed.
//
// What is assumed, and with it which worlds a check applies to
//
// Exclusion, and with it every other check unless said below, applies to every world that the seeds
// make, since they keep to what the lock assumes:
//   - Clocks differ in rate by less than the drift allowance (ppm_most), in offset by anything.
//   - SIGKILL takes effect within the margin (kill_takes), and of front and guard one lives and
//     runs: never are both paused, nor is one paused while the other is dead.
//   - Memory that servers lose is limited. Amnesia::any: with min_uptime >= ttl, servers may
//     restart empty or with an old snapshot whenever they like, all of them at once included:
//     whoever still counts on what a server has forgotten is dead before it votes again.
//     Amnesia::fair: without min_uptime, a server may only forget a key while N - Q + 1 others have
//     the same key, set or renewed by a request that was sent no earlier: these block every other
//     quorum until all that the holder was ever promised has run out.
//     A bound such as "at most a minority forgets in a ttl" would not do: a lease that stands on
//     exactly Q servers is undone by one that forgets.
// Fencing: tokens grow without any condition while no server loses its counter, however far the
//   hosts' wall clocks are apart. When one has, a token has to be larger only if its attempt began
//   more than 100 ms after the last entry, with wall clocks that agree: the floor, which is the
//   wall clock, then does what the counters cannot. (100 ms: each attempt adds one to a counter, so
//   that it may run ahead of the clock a little.)
// No false loss applies to calm worlds (Calm::minority, Calm::rolling): a majority of servers is
//   always reached, remembers and answers in time, and no process is stopped or killed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/timing.h"

namespace redlock::sim {

enum class Amnesia {
  none,  ///< servers restart with all they had
  fair,  ///< see above
  any,   ///< whenever they like
};

enum class Calm {
  none,      ///< anything goes
  minority,  ///< only the same minority of servers, and what leads to it, is ever in trouble
  rolling,   ///< one minority after the other, with time to heal between them
};

/// Broken on purpose, for proving that the checks see it.
struct Broken {
  // Servers whose scripts are wrong.
  bool release_ignores_token = false;
  bool renew_ignores_token = false;
  bool renew_recreates = false;     ///< a missing key is set again by a renewal
  bool acquire_overwrites = false;  ///< SET without NX
  bool raise_is_ignored = false;    ///< but reported as done: "INCR and take the maximum"
  bool counter_stands_still = false;
  bool says_young_but_sets = false;  ///< a SET that is executed after its failure was reported
  bool keys_never_expire = false;
  // Hosts that do not do their part.
  bool guard_sleeps = false;
  bool starts_before_granted = false;
  bool timers_fire_at_once = false;
  bool answers_stay_owed = false;   ///< answered requests are counted as unanswered
  bool hosts_hurry = false;         ///< their clocks run six times as fast
  bool job_is_called_over = false;  ///< when it is only told to stop
};

struct Plan {
  std::uint64_t seed = 1;
  std::size_t nodes = 1;
  std::size_t hosts = 3;
  core::Timing timing = core::Timing::for_ttl(Duration::seconds(1));
  Duration min_uptime;
  /// Which servers each host lists; empty: all of them.
  std::vector<std::vector<std::size_t>> views;

  // The network: one way takes up to delay_most, and one message in slow_one_in (0: none) up to
  // slow_most.
  Duration delay_most = Duration::milliseconds(5);
  std::int64_t slow_one_in = 0;
  Duration slow_most = Duration::milliseconds(400);
  Duration connect_most = Duration::milliseconds(20);

  // Clocks: rates of hosts and servers, and how far apart the hosts' wall clocks are.
  std::int64_t ppm_most = 4'000;
  Duration wall_skew_most;
  /// How late timers fire, in the front and in the guard.
  Duration front_late_most = Duration::milliseconds(2);
  Duration guard_late_most = Duration::milliseconds(10);
  /// A process that got SIGKILL is gone within this. With a late timer before it, it has to fit
  /// into half of the margin: one half is the guard's, one for killing a guard that does not act.
  Duration kill_takes = Duration::milliseconds(12);

  // What happens until the trouble is over; afterwards nothing is wrong any more.
  Duration troubled;
  int runs_each = 3;
  Calm calm = Calm::none;
  Amnesia amnesia = Amnesia::none;
  bool crashes = false;   ///< servers crash and restart
  bool hangs = false;     ///< servers stop for a while (SIGSTOP)
  bool breaks = false;    ///< connections break
  bool silences = false;  ///< links fall silent, in both directions or in one; partitions
  bool pauses = false;    ///< fronts and guards stop for a while
  bool deaths = false;    ///< fronts and guards are killed
  bool signals = false;   ///< fronts are told to end
  bool slips = false;     ///< somebody sets wall clocks
  bool gives_up = false;  ///< some wait for a limited time only, or not at all
  bool max_run = false;   ///< some limit the time of their job

  Broken broken;
};

/// The world of a seed: how many servers and hosts, how long a ttl, and which faults.
Plan night_of(std::uint64_t seed);

}  // namespace redlock::sim
