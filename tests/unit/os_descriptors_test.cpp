#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "os/descriptors.h"
#include "support/forked.h"
#include "support/temp_dir.h"

TEST_SUITE_BEGIN("os.descriptors");

namespace redlock::os {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

bool closes_on_exec(int fd) {
  return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

struct stat file_behind(int fd) {
  struct stat result{};
  ::fstat(fd, &result);
  return result;
}

bool is_null(int fd) {
  struct stat null{};
  ::stat("/dev/null", &null);
  return is_open(fd) && same_file(file_behind(fd), null);
}

/// The lowest free descriptor.
int next_descriptor() {
  const UniqueFd next(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return next.get();
}

TEST_CASE("whichever of 0, 1 and 2 are closed get occupied, the others are not touched") {
  for (unsigned closed = 0; closed < 8; ++closed) {
    CAPTURE(closed);
    const test::TempDir directory;
    test::in_child([closed, &directory] {
      std::array<struct stat, 3> before{};
      for (int fd = 0; fd <= 2; ++fd) {
        // A file of its own for each, so that a mix-up shows.
        const std::string path = directory.file(std::to_string(fd));
        const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        ::dup2(file.get(), fd);
        before[static_cast<std::size_t>(fd)] = file_behind(fd);
      }
      for (int fd = 0; fd <= 2; ++fd) {
        if ((closed >> fd & 1U) != 0) ::close(fd);
      }
      occupy_standard_descriptors();
      for (int fd = 0; fd <= 2; ++fd) {
        EXPECT_IN_CHILD(is_open(fd));
        if ((closed >> fd & 1U) != 0) {
          EXPECT_IN_CHILD(is_null(fd));
          EXPECT_IN_CHILD(closes_on_exec(fd));
          EXPECT_IN_CHILD((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
        } else {
          EXPECT_IN_CHILD(same_file(file_behind(fd), before[static_cast<std::size_t>(fd)]));
          EXPECT_IN_CHILD(!closes_on_exec(fd));
        }
      }
      EXPECT_IN_CHILD(next_descriptor() > 2);
    });
  }
}

TEST_CASE("inherited descriptors from 3 on are closed, ours and the standard ones stay") {
  test::in_child([] {
    close_inherited_descriptors();  // whatever the test runner was given
    const int ours = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    std::array<int, 200> inherited{};
    for (int& fd : inherited) fd = ::open("/dev/null", O_RDONLY);
    const int far = ::fcntl(ours, F_DUPFD, 900);
    const int ours_far = ::fcntl(ours, F_DUPFD_CLOEXEC, 901);
    EXPECT_IN_CHILD(inherited.back() > 200);
    EXPECT_IN_CHILD(ours > 2);  // 0 to 2 were left open
    EXPECT_IN_CHILD(far >= 900 && ours_far > far);
    close_inherited_descriptors();
    for (const int fd : inherited) EXPECT_IN_CHILD(!is_open(fd));
    EXPECT_IN_CHILD(!is_open(far));
    EXPECT_IN_CHILD(is_open(ours));
    EXPECT_IN_CHILD(is_open(ours_far));
    for (int fd = 0; fd <= 2; ++fd) EXPECT_IN_CHILD(is_open(fd));
  });
}

TEST_CASE("two descriptors are kept at 3 and 4, wherever they stood, and all above is closed") {
  for (const std::array<int, 2> places : {std::array{3, 4}, std::array{4, 3}, std::array{57, 3},
                                          std::array{4, 60}, std::array{30, 31}}) {
    CAPTURE(places[0]);
    CAPTURE(places[1]);
    test::in_child([&places] {
      const int one = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
      const int other = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
      const struct stat of_one = file_behind(one);
      const struct stat of_other = file_behind(other);
      const int high_one = ::fcntl(one, F_DUPFD_CLOEXEC, 900);
      const int high_other = ::fcntl(other, F_DUPFD_CLOEXEC, 900);
      for (int fd = 3; fd < 80; ++fd) ::dup2(STDIN_FILENO, fd);
      UniqueFd keep_one(::dup3(high_one, places[0], O_CLOEXEC));
      UniqueFd keep_other(::dup3(high_other, places[1], O_CLOEXEC));
      close_all_but(keep_one, keep_other);
      EXPECT_IN_CHILD(keep_one.get() == 3 && same_file(file_behind(3), of_one));
      EXPECT_IN_CHILD(keep_other.get() == 4 && same_file(file_behind(4), of_other));
      EXPECT_IN_CHILD(closes_on_exec(3) && closes_on_exec(4));
      for (int fd = 5; fd < 1024; ++fd) EXPECT_IN_CHILD(!is_open(fd));
      for (int fd = 0; fd <= 2; ++fd) EXPECT_IN_CHILD(is_open(fd));
    });
  }
}

TEST_CASE("letting go points 0 and 1 to /dev/null, 2 only if asked, and leaves the directory") {
  for (const bool stderr_too : {false, true}) {
    CAPTURE(stderr_too);
    const test::TempDir directory;
    test::in_child([stderr_too, &directory] {
      EXPECT_IN_CHILD(::chdir(directory.path().c_str()) == 0);
      const UniqueFd file(::open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      for (int fd = 0; fd <= 2; ++fd) ::dup2(file.get(), fd);
      const int free_before = next_descriptor();
      let_go_of_surroundings(stderr_too);
      EXPECT_IN_CHILD(is_null(0));
      EXPECT_IN_CHILD(is_null(1));
      EXPECT_IN_CHILD(is_null(2) == stderr_too);
      EXPECT_IN_CHILD(same_file(file_behind(2), file_behind(file.get())) == !stderr_too);
      EXPECT_IN_CHILD(next_descriptor() == free_before);
      std::array<char, 256> path{};
      EXPECT_IN_CHILD(::getcwd(path.data(), path.size()) == path.data());
      EXPECT_IN_CHILD(std::string(path.data()) == "/");
    });
  }
}

}  // namespace
}  // namespace redlock::os
