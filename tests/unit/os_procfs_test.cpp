#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <set>
#include <string>
#include <thread>

#include "os/procfs.h"
#include "support/forked.h"
#include "support/temp_dir.h"
#include "support/wait.h"

TEST_SUITE_BEGIN("os.procfs");

namespace redlock::os {
namespace {

void sleep_for_ever() {
  for (;;) ::pause();
}

/// A child that does nothing until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(test::fork_off(sleep_for_ever)) {}
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(); }

  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

std::string name_of(pid_t pid) {
  char name[16];
  process_name(pid, name);
  return name;
}

/// As os::children_of, for comparing.
std::set<pid_t> children(pid_t pid) {
  std::array<pid_t, 64> list{};
  const std::size_t found = children_of(pid, list.data(), list.size());
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(found)};
}

TEST_CASE("a process has its parent and a state") {
  const ProcessStat own = process_stat(::getpid());
  CHECK(own.parent == ::getppid());
  CHECK(own.state == 'R');
  CHECK(own.alive());
  const Sleeper child;
  CHECK(process_stat(child.pid()).parent == ::getpid());
  CHECK(test::wait_until([&] { return process_stat(child.pid()).state == 'S'; }));
  ::kill(child.pid(), SIGSTOP);
  CHECK(test::wait_until([&] { return process_stat(child.pid()).state == 'T'; }));
  CHECK(process_stat(child.pid()).alive());
}

TEST_CASE("what has ended is dead, before and after it is reaped") {
  Sleeper child;
  const pid_t pid = child.pid();
  ::kill(pid, SIGKILL);
  CHECK(test::wait_until([&] { return process_stat(pid).state == 'Z'; }));
  CHECK(!process_stat(pid).alive());
  CHECK(process_stat(pid).parent == ::getpid());
  child.end();
  CHECK(process_stat(pid).state == 0);
  CHECK(process_stat(pid).parent == 0);
  CHECK(!process_stat(pid).alive());
}

TEST_CASE("blanks, parentheses and line breaks in a name do not confuse the rest of the line") {
  for (const std::string& name :
       {std::string("a b c d"), std::string(") Z 1 (x"), std::string("((("), std::string(")))"),
        std::string(") R 1 1 1 1 1"), std::string("x\ny"), std::string("123456789012345")}) {
    CAPTURE(name);
    const test::Shared<std::atomic<bool>> named;
    const pid_t pid = test::fork_off([&] {
      ::prctl(PR_SET_NAME, name.c_str());
      *named = true;
      sleep_for_ever();
    });
    REQUIRE(test::wait_until([&] { return named->load(); }));
    CHECK(test::wait_until([&] { return process_stat(pid).state == 'S'; }));
    CHECK(process_stat(pid).parent == ::getpid());
    CHECK(process_stat(pid).alive());
    CHECK(name_of(pid) == name.substr(0, name.find('\n')));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST_CASE("the name of a process that is gone is empty") {
  Sleeper child;
  const pid_t pid = child.pid();
  CHECK(!name_of(pid).empty());
  child.end();
  CHECK(name_of(pid).empty());
}

TEST_CASE("children are those that live and those that are not reaped, and nobody else's") {
  const Sleeper first;
  const Sleeper second;
  Sleeper ended;
  ::kill(ended.pid(), SIGKILL);
  REQUIRE(test::wait_until([&] { return process_stat(ended.pid()).state == 'Z'; }));
  CHECK(children(::getpid()) == std::set<pid_t>{first.pid(), second.pid(), ended.pid()});
  CHECK(children(first.pid()).empty());
  ended.end();
  CHECK(children(::getpid()) == std::set<pid_t>{first.pid(), second.pid()});
}

TEST_CASE("a child that a second thread forked is listed") {
  test::in_child([] {
    std::atomic<pid_t> forked{0};
    std::atomic<bool> over{false};
    std::thread other([&] {
      forked = test::fork_off(sleep_for_ever);
      // Its children would pass to another thread if it ended.
      while (!over) test::pace(test::milliseconds(1));
    });
    EXPECT_IN_CHILD(test::wait_until([&] { return forked.load() > 0; }));
    const pid_t own = test::fork_off(sleep_for_ever);
    EXPECT_IN_CHILD(children(::getpid()) == std::set<pid_t>{forked.load(), own});
    over = true;
    other.join();
    ::kill(forked.load(), SIGKILL);
    ::kill(own, SIGKILL);
  });
}

TEST_CASE("no more children are written than there is room for") {
  const std::array<Sleeper, 5> sleepers;
  std::array<pid_t, 8> list{};
  CHECK(children_of(::getpid(), list.data(), 3) == 3);
  CHECK(list[2] > 0);
  CHECK(list[3] == 0);
  CHECK(children_of(::getpid(), list.data(), 0) == 0);
  CHECK(children_of(::getpid(), list.data(), list.size()) == 5);
}

TEST_CASE("hundreds of children are all found, however the kernel cuts the list") {
  test::in_child([] {
    std::set<pid_t> forked;
    // More than one page of pids.
    for (int i = 0; i < 900; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) ::_exit(0);
      if (pid > 0) forked.insert(pid);
    }
    EXPECT_IN_CHILD(forked.size() == 900);
    static std::array<pid_t, 2000> list;
    const std::size_t found = children_of(::getpid(), list.data(), list.size());
    const std::set<pid_t> seen(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(found));
    EXPECT_IN_CHILD(found == 900);
    EXPECT_IN_CHILD(seen == forked);
    while (::waitpid(-1, nullptr, 0) > 0) continue;
  });
}

TEST_CASE("a process that is gone has no children") {
  Sleeper child;
  const pid_t pid = child.pid();
  child.end();
  CHECK(children(pid).empty());
}

TEST_CASE("each number in a directory is visited once, and nothing else") {
  const test::TempDir directory;
  std::multiset<int> expected;
  // More than one buffer of entries.
  for (int number = 1; number <= 300; ++number) {
    directory.write(std::to_string(number * 1000), "");
    expected.insert(number * 1000);
  }
  for (const char* const name : {"0", "-3", "x7", "self", ".hidden"}) directory.write(name, "");
  std::multiset<int> visited;
  for_each_number_in(directory.path().c_str(), [&](int number) { visited.insert(number); });
  CHECK(visited == expected);
}

TEST_CASE("a directory that is not there has no numbers") {
  int visits = 0;
  for_each_number_in("/no/such/directory", [&](int) { ++visits; });
  for_each_number_in("/proc/self/stat", [&](int) { ++visits; });
  CHECK(visits == 0);
}

}  // namespace
}  // namespace redlock::os
