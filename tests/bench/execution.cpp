#include "execution.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace redlock::bench {
namespace {

double read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double in_ms(const timeval& span) {
  return static_cast<double>(span.tv_sec) * 1e3 + static_cast<double>(span.tv_usec) / 1e3;
}

std::string read_all(int fd) {
  std::string content;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t length = ::read(fd, buffer.data(), buffer.size());
    if (length <= 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace

double clock_ms() {
  return read_clock(CLOCK_REALTIME);
}

void give_up(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(70);
}

std::vector<char*> exec_arguments(const std::vector<std::string>& argv) {
  std::vector<char*> arguments(argv.size() + 1, nullptr);
  for (std::size_t i = 0; i < argv.size(); ++i) arguments[i] = const_cast<char*>(argv[i].c_str());
  return arguments;
}

Execution execute(const std::vector<std::string>& argv) {
  std::vector<char*> arguments = exec_arguments(argv);

  std::array<int, 2> ends{};
  const UniqueFd err(::memfd_create("stderr", MFD_CLOEXEC));
  if (!err || ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) give_up("no more descriptors");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.get(), 2);

  Execution result;
  pid_t pid = 0;
  int status = 0;
  rusage usage{};
  result.started_ms = clock_ms();
  const double start = read_clock(CLOCK_MONOTONIC);
  const int error =
      ::posix_spawnp(&pid, argv[0].c_str(), &actions, nullptr, arguments.data(), environ);
  if (error != 0) give_up("cannot run " + argv[0] + ": " + std::strerror(error));
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  result.wall_ms = read_clock(CLOCK_MONOTONIC) - start;
  result.ended_ms = clock_ms();
  ::posix_spawn_file_actions_destroy(&actions);

  writer.reset();
  ::lseek(err.get(), 0, SEEK_SET);
  result.out = read_all(reader.get());
  result.err = read_all(err.get());
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.cpu_ms = in_ms(usage.ru_utime) + in_ms(usage.ru_stime);
  result.faults = static_cast<double>(usage.ru_minflt + usage.ru_majflt);
  return result;
}

}  // namespace redlock::bench
