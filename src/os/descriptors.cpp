#include "os/descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
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

void close_all_but(UniqueFd& first, UniqueFd& second) {
  static constexpr int kPlaces[] = {3, 4};
  // Copies above both places first: one may stand where the other is to go.
  const int copies[] = {::fcntl(first.get(), F_DUPFD_CLOEXEC, 5),
                        ::fcntl(second.get(), F_DUPFD_CLOEXEC, 5)};
  RR_ASSERT(copies[0] >= 0 && copies[1] >= 0);
  first.reset();
  second.reset();
  for (int i = 0; i < 2; ++i) ::dup3(copies[i], kPlaces[i], O_CLOEXEC);
  first.reset(kPlaces[0]);
  second.reset(kPlaces[1]);
  if (::syscall(SYS_close_range, kPlaces[1] + 1, ~0U, 0) == 0) return;
  // A kernel before 5.9.
  for_each_number_in("/proc/self/fd", [](int fd) {
    if (fd > kPlaces[1]) ::close(fd);
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
