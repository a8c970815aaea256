#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/result.h"
#include "base/strong.h"
#include "base/unique_fd.h"
#include "support/forked.h"

TEST_SUITE_BEGIN("base.types");

namespace redlock {
namespace {

// What must not compile: one kind of text for another, or a bare text for any of them.
static_assert(!std::is_convertible_v<LockName, LockKey>);
static_assert(!std::is_convertible_v<Token, LockKey>);
static_assert(!std::is_convertible_v<std::string, Token>);
static_assert(!std::is_assignable_v<Token&, LockName>);
static_assert(!std::is_constructible_v<Token, LockKey>);
static_assert(!std::is_convertible_v<NodeIndex, FencingToken>);
static_assert(!std::is_copy_constructible_v<UniqueFd>);
static_assert(!std::is_copy_assignable_v<UniqueFd>);
static_assert(!std::is_convertible_v<Result<int>, bool>);

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

UniqueFd open_null() {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(null);
  return null;
}

/// For children that are to end without a word on the test's stderr.
void hush() {
  ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
}

TEST_CASE("strong types keep their value and its order") {
  CHECK(LockName("nightly").get() == "nightly");
  CHECK(LockName("a") < LockName("b"));
  CHECK(LockName("a") == LockName("a"));
  CHECK(LockName("a") != LockName("b"));
  CHECK(FencingToken().get() == 0);
  CHECK(LockName(std::string("a\0b", 3)).get().size() == 3);
}

TEST_CASE("a result holds its value or its error") {
  Result<int> good = 7;
  CHECK(good.ok());
  CHECK(static_cast<bool>(good));
  CHECK(good.value() == 7);
  good.value() = 8;
  CHECK(std::as_const(good).value() == 8);

  const Result<int> bad = Error{"no such file"};
  CHECK(!bad.ok());
  CHECK(!static_cast<bool>(bad));
  CHECK(bad.error().message == "no such file");
}

TEST_CASE("a result gives away a value that cannot be copied") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = std::move(result).value();
  REQUIRE(taken != nullptr);
  CHECK(*taken == 3);
}

TEST_CASE("reading the half of a result that is not there ends the process") {
  const std::string bug = "exit 70";
  test::in_child(
      [] {
        hush();
        static_cast<void>(Result<int>(Error{"x"}).value());
      },
      bug);
  test::in_child(
      [] {
        hush();
        static_cast<void>(Result<int>(1).error());
      },
      bug);
}

TEST_CASE("an assertion that holds does nothing, one that does not names itself and ends us") {
  test::in_child([] { RR_ASSERT(1 + 1 == 2); });
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  test::in_child(
      [&writer] {
        ::dup2(writer.get(), STDERR_FILENO);
        RR_ASSERT(1 + 1 == 3);
      },
      "exit 70");
  writer.reset();
  std::string text(4096, '\0');
  const ssize_t got = ::read(reader.get(), text.data(), text.size());
  REQUIRE(got > 0);
  text.resize(static_cast<std::size_t>(got));
  CAPTURE(text);
  CHECK(text.starts_with("redlock-run: internal error: 1 + 1 == 3 at "));
  CHECK(text.find("base_types_test.cpp:") != std::string::npos);
}

TEST_CASE("a descriptor is closed when its owner dies") {
  int fd = -1;
  {
    const UniqueFd owner = open_null();
    fd = owner.get();
    CHECK(is_open(fd));
  }
  CHECK(!is_open(fd));
}

TEST_CASE("an owner without a descriptor says so") {
  const UniqueFd none;
  CHECK(!none);
  CHECK(none.get() == -1);
  CHECK(!UniqueFd(-1));
  CHECK(UniqueFd(0).release() == 0);  // 0 is a descriptor like any other
}

TEST_CASE("a moved descriptor has one owner") {
  UniqueFd first = open_null();
  const int fd = first.get();
  UniqueFd second = std::move(first);
  CHECK(!first);  // NOLINT(bugprone-use-after-move)
  CHECK(second.get() == fd);
  CHECK(is_open(fd));

  UniqueFd third = open_null();
  const int replaced = third.get();
  third = std::move(second);
  CHECK(third.get() == fd);
  CHECK(!second);  // NOLINT(bugprone-use-after-move)
  CHECK(!is_open(replaced));

  UniqueFd& same = third;
  third = std::move(same);
  CHECK(third.get() == fd);
  CHECK(is_open(fd));
}

TEST_CASE("a released descriptor stays open, a reset one is closed") {
  UniqueFd owner = open_null();
  const int fd = owner.release();
  CHECK(!owner);
  CHECK(is_open(fd));
  owner.reset(fd);
  CHECK(owner.get() == fd);
  owner.reset();
  CHECK(!owner);
  CHECK(!is_open(fd));
}

}  // namespace
}  // namespace redlock
