// The few facts about other processes that only /proc tells. Allocates nothing.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>

#include "base/unique_fd.h"

namespace redlock::os {

struct ProcessStat {
  pid_t parent = 0;
  /// As in ps: R, S, D, T, Z…; 0 when there is no such process.
  char state = 0;

  bool alive() const { return state != 0 && state != 'Z' && state != 'X'; }
};

ProcessStat process_stat(pid_t pid);

/// Calls `visit` with each name in the directory `path` that is a positive number. Allocates
/// nothing, unlike opendir().
template <class Visit>
void for_each_number_in(const char* path, const Visit& visit) {
  const UniqueFd directory(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return;
  alignas(dirent64) std::array<char, 2048> entries;
  for (;;) {
    const long got = ::syscall(SYS_getdents64, directory.get(), entries.data(), entries.size());
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const int number = std::atoi(entry->d_name);
      if (number > 0) visit(number);
      at += entry->d_reclen;
    }
  }
}

/// Writes the children of all threads of `pid` to `children`; returns how many fitted.
std::size_t children_of(pid_t pid, pid_t* children, std::size_t capacity);

/// Writes the process's name (at most 15 bytes and a NUL) to `name`.
void process_name(pid_t pid, char (&name)[16]);

}  // namespace redlock::os
