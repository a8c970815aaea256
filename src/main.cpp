// redlock-run: acquire a lock on Redis, run a command while keeping the lease, release.
//
// Five floors; each file includes its own floor and lower ones only (scripts/check-floors).
//
// base/   words that everything is written in
//   time, strong, result, unique_fd, assert    spans and points of time, types that do not mix,
//                                              value or error, owned descriptors, bugs
//   log                                        one line to stderr that never blocks
// core/   the lock itself: pure, no clock, no I/O; begin with core/lease.h
//   run           joins the two machines below; program and simulator drive exactly this
//   lease, lease_acquire, lease_hold, lease_release
//                 acquire, renew and heal, lose, give back, over N servers
//   supervision   what becomes of COMMAND and how it all ends
//   fence         the guard's clockwork: when to signal, when to kill
//   timing, validity, draw    spans and their relations, lease arithmetic, chance
//   node_io       what is asked of a server and what it can answer
// os/     Linux: clocks, waiting, signals, processes
//   clock, timer, entropy, event_loop, signals, descriptors
//   spawn         from fork to exec
//   process_tree, procfs      everything that COMMAND starts: list, signal, kill, reap
// redis/  the servers
//   node, single  one server as the lock sees it; a server at a fixed address
//   connection    hiredis on our event loop
//   scripts, reply, lock_text, printable    Lua, replies to outcomes, keys and tokens
//   url, resolver, peer       where a server is, and whom we have reached
// app/    the program around it
//   program, options, command_line, duration, signal_name, exit_code, environment
//   runtime       the loop: inputs in, effects out
//   narrator, server_watch, wording               what the user reads
//   name_resolver             DNS that cannot stall us
//   fmt_library               the compiled part of fmt
//   guard, guard_process, guard_protocol, enforcer    the process that outlives us to stop COMMAND
#include <unistd.h>

#include "app/program.h"
#include "os/signals.h"

int main(int argc, char** argv) {
  const redlock::app::ProcessEnd end = redlock::app::run_program(argc, argv, environ);
  if (end.signal != 0) redlock::os::die_by(end.signal);
  // Nothing is left to be torn down; what is freed now would only cost time.
  _exit(end.code);
}
