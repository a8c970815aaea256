#include "os/procfs.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace redlock::os {
namespace {

using Path = std::array<char, 64>;

UniqueFd open_path(const Path& path, int flags) {
  return UniqueFd(::open(path.data(), flags | O_RDONLY | O_CLOEXEC));
}

/// Reads up to the buffer's size less one and ends it with a NUL; false when nothing was there.
template <std::size_t Size>
bool read_file(const Path& path, std::array<char, Size>& text) {
  const UniqueFd file = open_path(path, 0);
  if (!file) return false;
  const ssize_t got = ::read(file.get(), text.data(), Size - 1);
  if (got <= 0) return false;
  text[static_cast<std::size_t>(got)] = '\0';
  return true;
}

/// Reads numbers separated by blanks from `path` into `numbers`, which may be split by a read.
std::size_t read_numbers(const Path& path, pid_t* numbers, std::size_t capacity) {
  const UniqueFd file = open_path(path, 0);
  if (!file) return 0;
  std::array<char, 4096> text;
  std::size_t count = 0;
  pid_t number = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    if (got <= 0) return count;
    for (ssize_t i = 0; i < got; ++i) {
      const char c = text[static_cast<std::size_t>(i)];
      if (c >= '0' && c <= '9') {
        number = number * 10 + (c - '0');
      } else if (number != 0) {
        if (count == capacity) return count;
        numbers[count++] = number;
        number = 0;
      }
    }
  }
}

}  // namespace

ProcessStat process_stat(pid_t pid) {
  Path path;
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  std::array<char, 512> text;
  if (!read_file(path, text)) return {};
  // The name stands in parentheses and may contain any byte, parentheses included.
  const char* const name_end = std::strrchr(text.data(), ')');
  if (name_end == nullptr || name_end[1] == '\0' || name_end[2] == '\0') return {};
  ProcessStat stat;
  stat.state = name_end[2];
  stat.parent = static_cast<pid_t>(std::strtol(name_end + 3, nullptr, 10));
  return stat;
}

std::size_t children_of(pid_t pid, pid_t* children, std::size_t capacity) {
  std::size_t count = 0;
  Path tasks;
  std::snprintf(tasks.data(), tasks.size(), "/proc/%d/task", pid);
  for_each_number_in(tasks.data(), [&](int thread) {
    Path path;
    std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/children", pid, thread);
    count += read_numbers(path, children + count, capacity - count);
  });
  return count;
}

void process_name(pid_t pid, char (&name)[16]) {
  Path path;
  std::snprintf(path.data(), path.size(), "/proc/%d/comm", pid);
  std::array<char, 32> text;
  name[0] = '\0';
  if (!read_file(path, text)) return;
  text[std::strcspn(text.data(), "\n")] = '\0';
  std::snprintf(name, sizeof name, "%.15s", text.data());
}

}  // namespace redlock::os
