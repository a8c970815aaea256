#include "os/descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "os/procfs.h"

namespace redlock::os {

void occupy_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free descriptor is `fd`, since those below are open by now.
    const int opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    // No /dev/null (a bare chroot): anything that cannot be written will do.
    if (opened < 0) static_cast<void>(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
}

void close_inherited_descriptors() {
  for_each_number_in("/proc/self/fd", [](int fd) {
    if (fd < 3) return;
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ::close(fd);
  });
}

void close_all_but(int keep) {
  constexpr int kPlace = 3;
  if (keep != kPlace) ::dup3(keep, kPlace, O_CLOEXEC);
  if (::syscall(SYS_close_range, kPlace + 1, ~0U, 0) == 0) return;
  // A kernel before 5.9.
  for_each_number_in("/proc/self/fd", [](int fd) {
    if (fd > kPlace) ::close(fd);
  });
}

void let_go_of_surroundings(bool stderr_too) {
  // Stays where it is if "/" is not to be entered; nothing depends on it.
  if (::chdir("/") != 0) return;
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return;
  for (int fd = 0; fd <= (stderr_too ? 2 : 1); ++fd) ::dup2(null.get(), fd);
}

}  // namespace redlock::os
