// What passes between the process that talks to Redis (the front) and the one that guards COMMAND:
// a shared page with the deadlines, and messages over a SOCK_SEQPACKET pair. The page works even
// when the front hangs; the end of the socket tells each of the other's death.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace redlock::app {

/// Shared by front and guard; times are CLOCK_BOOTTIME in nanoseconds.
struct GuardPage {
  std::atomic<std::int64_t> stop_at;
  std::atomic<std::int64_t> kill_at;
  /// COMMAND must not be started later than this.
  std::atomic<std::int64_t> latest_start;
  /// Set by the guard when it crossed stop_at; nothing published later counts then.
  std::atomic<bool> fenced;

  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

enum class GuardWord : std::uint32_t {
  // Front to guard.
  signal_main,  ///< number
  signal_job,   ///< number
  stop,         ///< time: kill at the latest; number: whether to signal the job as well
  wake,         ///< the page holds a nearer deadline
  // Guard to front.
  started,       ///< pids[0]: COMMAND
  exec_failed,   ///< number: errno
  declined,      ///< too late to start
  start_failed,  ///< number: errno
  stopped,
  continued,
  ended,       ///< number: status or signal; flags
  left,        ///< COMMAND ended, pids of its job live on
  fenced,      ///< crossed the stop line
  unkillable,  ///< pids could not be killed
  over,        ///< nothing is left to guard; the guard is about to exit
};

struct GuardMessage {
  GuardWord word = GuardWord::wake;
  std::int32_t number = 0;
  bool signalled = false;
  bool dumped_core = false;
  std::int64_t time = 0;
  /// As many as fit; the rest are 0.
  std::array<pid_t, 8> pids{};
};
static_assert(std::is_trivially_copyable_v<GuardMessage>);

}  // namespace redlock::app
