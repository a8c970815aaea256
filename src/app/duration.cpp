#include "app/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace redlock::app {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Unit kUnits[] = {{"ms", 1'000'000},
                           {"s", kSecond},
                           {"m", 60 * kSecond},
                           {"h", 3'600 * kSecond},
                           {"d", 86'400 * kSecond}};

/// Takes digits off the front of `text`; nullopt when there is none or too many.
std::optional<std::int64_t> take_digits(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The part of one `unit` that the digits after a point stand for, rounded up.
Duration take_fraction(std::string_view& text, std::int64_t unit_ns) {
  std::int64_t ns = 0;
  std::int64_t place = unit_ns;
  bool rest = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    const int digit = text.front() - '0';
    rest = rest || (digit != 0 && (place == 0 || place % 10 != 0));
    place /= 10;
    ns += place * digit;
    text.remove_prefix(1);
  }
  return Duration::nanoseconds(rest ? ns + 1 : ns);
}

std::string_view digits_of(std::string_view text) {
  return text.substr(0, text.find_first_not_of("0123456789"));
}

/// Takes one number with its unit off the front. A missing unit means seconds and is only good at
/// the end of a text that has no other part.
std::optional<Duration> take_part(std::string_view& text, bool only) {
  std::int64_t whole = 0;
  if (text.front() != '.') {
    const std::optional<std::int64_t> digits = take_digits(text);
    if (!digits) return std::nullopt;
    whole = *digits;
  }
  std::string_view fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = digits_of(text);
    if (fraction.empty()) return std::nullopt;
    text.remove_prefix(fraction.size());
  }
  const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
  std::int64_t unit_ns = 0;
  if (name.empty()) {
    if (!only || !text.empty()) return std::nullopt;
    unit_ns = kSecond;
  }
  for (const Unit& unit : kUnits) {
    if (unit.name == name) unit_ns = unit.ns;
  }
  if (unit_ns == 0) return std::nullopt;
  text.remove_prefix(name.size());
  const Duration span = Duration::nanoseconds(whole) * unit_ns + take_fraction(fraction, unit_ns);
  if (span.is_infinite()) return std::nullopt;
  return span;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  if (text == "inf") return Duration::infinite();
  if (text.empty()) return std::nullopt;
  Duration sum;
  bool first = true;
  while (!text.empty()) {
    const std::optional<Duration> part = take_part(text, first);
    if (!part) return std::nullopt;
    sum = sum + *part;
    if (sum.is_infinite()) return std::nullopt;
    first = false;
  }
  return sum;
}

std::string format_duration(Duration span) {
  if (span.is_infinite()) return "ever";
  const std::int64_t ms = span.ms();
  const std::int64_t s = ms / 1000;
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (s < 60) return fmt::format("{}.{}s", s, ms % 1000 / 100);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
  return fmt::format("{}d{:02}h", s / 86400, s % 86400 / 3600);
}

}  // namespace redlock::app
