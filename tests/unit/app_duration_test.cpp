#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "app/duration.h"

TEST_SUITE_BEGIN("app.duration");

namespace redlock::app {
namespace {

using namespace std::string_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Nanoseconds, or -1 for what is no duration.
std::int64_t read(const std::string& text) {
  const std::optional<Duration> span = parse_duration(text);
  return span ? span->ns() : -1;
}

TEST_CASE("every documented form is read") {
  const std::pair<const char*, std::int64_t> forms[] = {
      {"10", 10 * kSecond},
      {"0.5", kSecond / 2},
      {"500ms", kSecond / 2},
      {"30s", 30 * kSecond},
      {"2m", 120 * kSecond},
      {"1h30m", 5400 * kSecond},
      {"1d", 86'400 * kSecond},
      {"0", 0},
      {"0ms", 0},
      {"007s", 7 * kSecond},
      {".5", kSecond / 2},
      {"1.5h", 5400 * kSecond},
      {"0.25ms", 250'000},
      {"1d2h3m4s5ms", 93'784 * kSecond + 5'000'000},
      {"1m0.5s", 60'500'000'000},
      {"0.000000001", 1},
      {"9223372036s", 9'223'372'036 * kSecond},
  };
  for (const auto& [form, ns] : forms) {
    const std::string text = form;
    CAPTURE(text);
    CHECK(read(text) == ns);
  }
  CHECK(parse_duration("inf") == Duration::infinite());
}

TEST_CASE("everything else is refused") {
  const char* const texts[] = {
      "",     " ",     "s",    "ms",    ".",     ".s",   "5.",  "5.s",  "-1",   "-1s", "+1",
      "1 s",  " 1s",   "1s ",  "1x",    "1sec",  "1S",   "1M",  "1Ms",  "1us",  "1ns", "1w",
      "1h30", "30 5",  "1..5", "1.2.3", "1.5.s", "0x10", "1e3", "1e3s", "nan",  "INF", "infs",
      "inf1", "1inf",  "1,5",  "1s-1s", "1s 1s", "--1",  "1s.", "1h.",  "é",    "1µs", "1s\n",
      "1-",   "never", "1m-",  "1m30",  "0.5.5", "١s",   "1\t", "1ss",  "1mms", "1d1",
  };
  for (const char* const text : texts) {
    CAPTURE(std::string(text));
    CHECK(!parse_duration(text));
  }
  CHECK(!parse_duration("1\0"s));
  CHECK(!parse_duration("1s\0"s));
  CHECK(!parse_duration("\0"s));
}

TEST_CASE("what does not fit is refused, whichever part makes it too long") {
  CHECK(!parse_duration("9223372037s"));
  CHECK(!parse_duration("9223372036.9"));
  CHECK(!parse_duration("106752d"));
  CHECK(parse_duration("106751d"));
  CHECK(!parse_duration("106751d24h"));
  CHECK(!parse_duration("9223372036854775807"));
  CHECK(!parse_duration("9223372036854775808"));
  CHECK(!parse_duration("18446744073709551617ms"));  // 1 in 64 bits
  CHECK(!parse_duration(std::string(400, '9') + "s"));
  CHECK(!parse_duration("9223372036s9223372036s"));
}

TEST_CASE("parts of a nanosecond are rounded up, so nothing positive becomes zero") {
  CHECK(read("0.0000000001") == 1);
  CHECK(read("0.0000000010") == 1);
  CHECK(read("0.0000000011") == 2);
  CHECK(read("0.0000001ms") == 1);
  CHECK(read("0.000001ms") == 1);
  CHECK(read("1.9999999999") == 2 * kSecond);
  for (std::size_t zeros = 0; zeros < 40; ++zeros) {
    for (const char* const unit : {"", "ms", "s", "m", "h", "d"}) {
      const std::string text = "0." + std::string(zeros, '0') + "1" + unit;
      CAPTURE(text);
      CHECK(read(text) > 0);
    }
  }
  CHECK(read("0." + std::string(40, '0')) == 0);
}

TEST_CASE("a fraction of any unit is exact up to nine digits") {
  const std::pair<const char*, std::int64_t> units[] = {
      {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3'600 * kSecond}, {"d", 86'400 * kSecond}};
  for (const auto& [unit, ns] : units) {
    for (const std::int64_t billionths : {1, 7, 999'999'999, 123'456'789, 500'000'000}) {
      std::string digits = std::to_string(billionths);
      digits.insert(0, 9 - digits.size(), '0');
      const std::string text = "0." + digits + unit;
      CAPTURE(text);
      CHECK(read(text) == ns / kSecond * billionths);
    }
  }
}

TEST_CASE("every span up to a day reads back as what it was written from") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto ms = static_cast<std::int64_t>(random() % 86'400'000);
    CAPTURE(ms);
    CHECK(read(std::to_string(ms) + "ms") == ms * 1'000'000);
    const std::string parts =
        std::to_string(ms / 3'600'000) + "h" + std::to_string(ms / 60'000 % 60) + "m" +
        std::to_string(ms / 1000 % 60) + "s" + std::to_string(ms % 1000) + "ms";
    CHECK(read(parts) == ms * 1'000'000);
  }
}

TEST_CASE("a written span has two parts at most, and is cut rather than rounded up") {
  const std::pair<Duration, const char*> forms[] = {
      {Duration(), "0ms"},
      {Duration::nanoseconds(999'999), "0ms"},
      {Duration::milliseconds(250), "250ms"},
      {Duration::milliseconds(999), "999ms"},
      {Duration::seconds(1), "1.0s"},
      {Duration::milliseconds(21'399), "21.3s"},
      {Duration::milliseconds(59'999), "59.9s"},
      {Duration::seconds(60), "1m00s"},
      {Duration::seconds(723), "12m03s"},
      {Duration::seconds(3599), "59m59s"},
      {Duration::seconds(3600), "1h00m"},
      {Duration::seconds(3 * 3600 + 5 * 60 + 59), "3h05m"},
      {Duration::seconds(86'399), "23h59m"},
      {Duration::seconds(86'400), "1d00h"},
      {Duration::seconds(2 * 86'400 + 4 * 3600), "2d04h"},
      {Duration::infinite(), "ever"},
  };
  for (const auto& [span, form] : forms) {
    const std::string text = form;
    CAPTURE(text);
    CHECK(format_duration(span) == text);
  }
}

TEST_CASE("a written span reads back as itself, but for what was cut off") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const auto ms = static_cast<std::int64_t>(random() % (1ULL << (random() % 40)));
    const Duration span = Duration::milliseconds(ms);
    CAPTURE(ms);
    const std::optional<Duration> back = parse_duration(format_duration(span));
    REQUIRE(back);
    const Duration step = ms < 1000         ? Duration::milliseconds(1)
                          : ms < 60'000     ? Duration::milliseconds(100)
                          : ms < 3'600'000  ? Duration::seconds(1)
                          : ms < 86'400'000 ? Duration::seconds(60)
                                            : Duration::seconds(3600);
    CHECK(*back <= span);
    CHECK(span < *back + step);
  }
}

TEST_CASE("no text makes it crash, and what it accepts is neither negative nor endless") {
  const char* const chosen = std::getenv("RR_TEST_SEED");
  const std::uint64_t seed =
      chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device()();
  MESSAGE("RR_TEST_SEED=", seed);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::string likely = "0123456789.0123456789smhdinf -+";
  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text(random() % 24, '\0');
    for (char& c : text) {
      c = random() % 50 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    }
    const std::optional<Duration> span = parse_duration(text);
    if (!span) continue;
    ++accepted;
    CAPTURE(text);
    REQUIRE(*span >= Duration());
    REQUIRE(span->is_infinite() == (text == "inf"));
  }
  CHECK(accepted > 100);
}

}  // namespace
}  // namespace redlock::app
