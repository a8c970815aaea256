// Runs part of a test in a forked child, for whatever changes or ends the process it runs in. The
// child has no doctest: it notes what does not hold in memory it shares with the test, which works
// whatever becomes of its descriptors and signals.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "support/wait.h"

namespace redlock::test {

/// A T in memory that a process shares with everything it forks. T is best made of atomics.
template <class T>
class Shared {
 public:
  Shared() : place_(map()), value_(new(place_) T()) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(place_, sizeof(T)); }

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  static void* map() {
    void* const place =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) std::abort();
    return place;
  }

  void* place_;
  T* value_;
};

/// What the children of in_child() found wrong.
struct Findings {
  char text[4096] = "";
  std::atomic<std::size_t> used{0};

  /// From any process; async-signal-safe enough for a forked child.
  void add(const char* file, int line, const char* what) {
    char entry[512];
    const int length = std::snprintf(entry, sizeof entry, "%s:%d: %s\n", file, line, what);
    if (length <= 0) return;
    const std::size_t size = std::min(static_cast<std::size_t>(length), sizeof entry - 1);
    const std::size_t at = used.fetch_add(size);
    if (at + size < sizeof text) std::memcpy(text + at, entry, size);
  }
};

inline Findings* current_findings = nullptr;

/// Notes a condition that does not hold in a child of in_child() and goes on.
#define EXPECT_IN_CHILD(...)                                                    \
  do {                                                                          \
    if (!(__VA_ARGS__)) {                                                       \
      ::redlock::test::current_findings->add(__FILE__, __LINE__, #__VA_ARGS__); \
    }                                                                           \
  } while (false)

/// Forks a process that runs `body` and exits with 0. It ends after a minute whatever happens.
template <class Body>
pid_t fork_off(const Body& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  // The handlers that doctest and sanitizers set up would report the test itself as crashed.
  for (const int signal : {SIGINT, SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTERM, SIGABRT}) {
    ::signal(signal, SIG_DFL);
  }
  ::alarm(60);
  body();
  ::_exit(0);
}

/// For a forked process that has nothing to do before `fact` is true.
template <class Fact>
void wait_or_exit(const Fact& fact) {
  if (!wait_until(fact)) ::_exit(99);
}

/// Runs `body` in a child, which adopts what its descendants leave behind. Returns what did not
/// hold there and, unless it was `expected_end`, how it ended; empty when all is well.
template <class Body>
std::string findings_of(const Body& body, const std::string& expected_end = "exit 0") {
  const Shared<Findings> findings;
  current_findings = &*findings;
  const pid_t pid = fork_off([&body] {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    body();
  });
  if (pid < 0) return "fork failed";
  int status = 0;
  std::string end = "did not end";
  // Longer than any wait in there, whose findings would be lost otherwise.
  if (wait_until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }, 4 * kPatience)) {
    end = WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                            : "signal " + std::to_string(WTERMSIG(status)) +
                                  (WCOREDUMP(status) ? " with core" : "");
  } else {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  current_findings = nullptr;
  return findings->text + (end == expected_end ? "" : end);
}

/// Fails the test with the findings_of() `body`, if there are any.
template <class Body>
void in_child(const Body& body, const std::string& expected_end = "exit 0") {
  const std::string findings = findings_of(body, expected_end);
  CHECK_MESSAGE(findings.empty(), findings);
}

}  // namespace redlock::test
