#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <set>
#include <string>

#include "os/clock.h"
#include "os/entropy.h"
#include "support/wait.h"

TEST_SUITE_BEGIN("os.clock_entropy");

namespace redlock::os {
namespace {

TEST_CASE("the clock of spans is CLOCK_BOOTTIME and never goes back") {
  const std::int64_t before = test::boottime_ns();
  TimePoint last = boot_now();
  CHECK(last.ns() >= before);
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = boot_now();
    REQUIRE(now >= last);
    last = now;
  }
  CHECK(last.ns() <= test::boottime_ns());
}

TEST_CASE("the wall clock counts milliseconds since 1970") {
  const std::int64_t before = std::int64_t{std::time(nullptr)} * 1000 - 1000;
  const std::int64_t now = wall_ms();
  CHECK(now >= before);
  CHECK(now <= (std::int64_t{std::time(nullptr)} + 2) * 1000);
}

TEST_CASE("an id is 32 lower-case hex digits, and no two are the same") {
  std::set<std::string> ids;
  std::set<char> digits;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = random_id();
    REQUIRE(id.size() == 32);
    REQUIRE(id.find_first_not_of("0123456789abcdef") == std::string::npos);
    digits.insert(id.begin(), id.end());
    ids.insert(id);
  }
  CHECK(ids.size() == 1000);
  CHECK(digits.size() == 16);
}

TEST_CASE("every bit of the random numbers comes both ways") {
  std::uint64_t ever_set = 0;
  std::uint64_t ever_clear = 0;
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t bits = random_bits();
    ever_set |= bits;
    ever_clear |= ~bits;
    numbers.insert(bits);
  }
  CHECK(ever_set == ~std::uint64_t{0});
  CHECK(ever_clear == ~std::uint64_t{0});
  CHECK(numbers.size() == 1000);
}

TEST_CASE("both halves of an id are random") {
  std::set<std::string> firsts;
  std::set<std::string> seconds;
  for (int i = 0; i < 100; ++i) {
    const std::string id = random_id();
    firsts.insert(id.substr(0, 16));
    seconds.insert(id.substr(16));
  }
  CHECK(firsts.size() == 100);
  CHECK(seconds.size() == 100);
}

}  // namespace
}  // namespace redlock::os
