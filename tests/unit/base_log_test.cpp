#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "support/forked.h"
#include "support/terminal.h"

TEST_SUITE_BEGIN("base.log");

namespace redlock {
namespace {

const std::string kClear = "\r\x1b[K";

/// Stands in for stderr while it lives. (doctest reports on stdout.)
class StderrIs {
 public:
  explicit StderrIs(int fd) : original_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(fd, STDERR_FILENO);
  }
  StderrIs(const StderrIs&) = delete;
  StderrIs& operator=(const StderrIs&) = delete;
  ~StderrIs() { ::dup2(original_.get(), STDERR_FILENO); }

 private:
  UniqueFd original_;
};

/// What `use` writes to stderr, one entry for each call of write(2).
template <class Use>
std::vector<std::string> writes_of(const Use& use) {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  {
    const StderrIs stderr_is(writer.get());
    use();
  }
  std::vector<std::string> writes;
  std::array<char, 65536> block{};
  for (ssize_t got = 0;
       (got = ::recv(reader.get(), block.data(), block.size(), MSG_DONTWAIT)) > 0;) {
    writes.emplace_back(block.data(), static_cast<std::size_t>(got));
  }
  return writes;
}

using Lines = std::vector<std::string>;

/// A pipe that takes nothing more.
struct FullPipe {
  FullPipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    // Filled page by page through a non-blocking description of its own.
    const std::string path = "/proc/self/fd/" + std::to_string(writer.get());
    const UniqueFd filler(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(filler);
    const std::string page(4096, '#');
    while (::write(filler.get(), page.data(), page.size()) > 0) filled += page.size();
    REQUIRE(filled > 0);
  }

  void drain() {
    std::string block(filled, '\0');
    std::size_t got = 0;
    while (got < filled) {
      const ssize_t more = ::read(reader.get(), block.data(), filled - got);
      REQUIRE(more > 0);
      got += static_cast<std::size_t>(more);
    }
  }

  std::string available() const {
    std::string block(65536, '\0');
    pollfd polled{reader.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) != 1) return {};
    const ssize_t got = ::read(reader.get(), block.data(), block.size());
    return block.substr(0, static_cast<std::size_t>(got));
  }

  UniqueFd reader;
  UniqueFd writer;
  std::size_t filled = 0;
};

TEST_CASE("each line is one write with the prefix, a colon and one newline") {
  const auto writes = writes_of([] {
    Log log("redlock-run: nightly", LogLevel::warning);
    log.warning("server h:1 does not answer");
    log.error("lease lost");
    log.error("");
  });
  CHECK(writes == Lines{"redlock-run: nightly: server h:1 does not answer\n",
                        "redlock-run: nightly: lease lost\n", "redlock-run: nightly: \n"});
}

TEST_CASE("a line shows when its level is at most the log's") {
  const std::array all = {LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug};
  for (const LogLevel most : all) {
    const auto writes = writes_of([most] {
      Log log("p", most);
      log.error("e");
      log.warning("w");
      log.info("i");
      log.debug("d");
    });
    const Lines every = {"p: e\n", "p: w\n", "p: i\n", "p: d\n"};
    const std::size_t shown = static_cast<std::size_t>(most) + 1;
    CHECK(writes == Lines(every.begin(), every.begin() + static_cast<std::ptrdiff_t>(shown)));
    for (const LogLevel level : all) CHECK(Log("p", most).shows(level) == (level <= most));
  }
}

TEST_CASE("a line break in a text or in a prefix becomes a blank") {
  const auto writes = writes_of([] { Log("a\nb", LogLevel::error).error("c\nd\r\ne\r"); });
  CHECK(writes == Lines{"a b: c d  e \n"});
}

TEST_CASE("a line of 4096 bytes is whole, a longer one is cut to that and still ends") {
  // "p: " before and the newline behind.
  for (const std::size_t size : {4091UL, 4092UL, 4093UL, 5000UL, 100'000UL}) {
    CAPTURE(size);
    const auto writes =
        writes_of([size] { Log("p", LogLevel::error).error(std::string(size, 'x')); });
    REQUIRE(writes.size() == 1);
    CHECK(writes[0].size() == std::min<std::size_t>(size + 4, 4096));
    CHECK(writes[0].substr(0, 4) == "p: x");
    CHECK(writes[0].substr(writes[0].size() - 2) == "x\n");
  }
}

TEST_CASE("a pipe that nobody reads never blocks, and what was dropped is counted once") {
  test::in_child([] {
    FullPipe pipe;
    ::dup2(pipe.writer.get(), STDERR_FILENO);
    Log log("p", LogLevel::info);
    log.error("one");
    log.warning("two");
    log.info("three");
    log.debug("not shown, so not dropped");
    EXPECT_IN_CHILD(log.shows(LogLevel::info));
    pipe.drain();
    log.error("four");
    EXPECT_IN_CHILD(pipe.available() ==
                    "p: 3 earlier lines were dropped: stderr was not being read\np: four\n");
    log.error("five");
    EXPECT_IN_CHILD(pipe.available() == "p: five\n");
  });
}

TEST_CASE("a status line does not block on a full pipe either") {
  test::in_child([] {
    FullPipe pipe;
    ::dup2(pipe.writer.get(), STDERR_FILENO);
    Log log("p", LogLevel::info);
    log.show_status("waiting");
    pipe.drain();
    // It was never shown, so there is nothing to wipe away.
    log.error("held");
    EXPECT_IN_CHILD(pipe.available() == "p: held\n");
  });
}

TEST_CASE("the pipe stays blocking for whoever shares it") {
  FullPipe pipe;
  pipe.drain();
  const StderrIs stderr_is(pipe.writer.get());
  Log("p", LogLevel::error).error("x");
  CHECK((::fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("errno is kept when a line cannot be written, and the line is counted") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full);
  Log log("p", LogLevel::error);
  {
    const StderrIs stderr_is(full.get());
    errno = EXDEV;
    log.error("lost");
    CHECK(errno == EXDEV);
  }
  CHECK(writes_of([&log] { log.error("x"); }) ==
        Lines{"p: 1 earlier lines were dropped: stderr was not being read\n", "p: x\n"});
}

TEST_CASE("a closed stderr and a reader that is gone do no harm") {
  test::in_child([] {
    ::close(STDERR_FILENO);
    Log("p", LogLevel::error).error("x");
  });
  test::in_child([] {
    FullPipe pipe;
    ::signal(SIGPIPE, SIG_IGN);  // the program has it blocked
    ::dup2(pipe.writer.get(), STDERR_FILENO);
    pipe.reader.reset();
    Log("p", LogLevel::error).error("x");
  });
}

TEST_CASE("the status line is replaced by the next status, and wiped by the next line") {
  const auto writes = writes_of([] {
    Log log("p", LogLevel::warning);
    log.show_status("waiting 1s");
    log.show_status("waiting 2s");
    log.info("not shown, so it wipes nothing");
    log.error("held");
    log.error("again");
  });
  CHECK(writes == Lines{kClear + "p: waiting 1s", kClear + "p: waiting 2s", kClear + "p: held\n",
                        "p: again\n"});
}

TEST_CASE("an empty status wipes what is shown, and only that") {
  const auto writes = writes_of([] {
    Log log("p", LogLevel::warning);
    log.show_status("");
    log.show_status("waiting");
    log.show_status("");
    log.show_status("");
    log.error("held");
  });
  CHECK(writes == Lines{kClear + "p: waiting", kClear, "p: held\n"});
}

TEST_CASE("a status fits on one row of the terminal, or on 79 columns where there is none") {
  const auto writes =
      writes_of([] { Log("p", LogLevel::warning).show_status(std::string(200, 'x')); });
  REQUIRE(writes.size() == 1);
  CHECK(writes[0] == kClear + "p: " + std::string(76, 'x'));

  const test::Terminal terminal;
  const UniqueFd screen(::open(terminal.path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(screen);
  const winsize window{.ws_row = 24, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(::ioctl(screen.get(), TIOCSWINSZ, &window) == 0);
  {
    const StderrIs stderr_is(screen.get());
    Log("p", LogLevel::warning).show_status(std::string(200, 'x'));
  }
  CHECK(terminal.shown() == kClear + "p: " + std::string(16, 'x'));
}

}  // namespace
}  // namespace redlock
