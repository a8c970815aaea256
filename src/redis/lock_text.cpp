#include "redis/lock_text.h"

#include <algorithm>
#include <charconv>

#include "redis/printable.h"

namespace redlock::redis {
namespace {

constexpr std::string_view kFenceSuffix = ":fence";
constexpr std::string_view kWaitersSuffix = ":waiters";
constexpr std::size_t kRunIdDigits = 32;

/// Whether Redis Cluster would hash only a part of `key`: what stands between the first '{' and the
/// first '}' after it, if that is not empty.
bool has_hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return false;
  const std::size_t close = key.find('}', open);
  return close != std::string_view::npos && close > open + 1;
}

/// A key that starts with '}' is wrapped to something without a tag, hence the second form.
bool looks_auxiliary(std::string_view key, std::string_view suffix) {
  if (!key.ends_with(suffix)) return false;
  const std::string_view stem = key.substr(0, key.size() - suffix.size());
  return has_hash_tag(key) || (stem.starts_with('{') && stem.ends_with('}'));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

std::optional<std::int64_t> natural_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Splits the number behind the last ':' off `text`.
std::optional<std::int64_t> take_last_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = natural_number(text.substr(colon + 1));
  text = text.substr(0, colon);
  return number;
}

}  // namespace

Result<LockKey> make_lock_key(std::string_view prefix, const LockName& name) {
  std::string key = std::string(prefix) + name.get();
  for (const std::string_view suffix : {kFenceSuffix, kWaitersSuffix}) {
    if (!looks_auxiliary(key, suffix)) continue;
    return Error{"the key '" + printable(key) +
                 "' would look like one that redlock-run keeps beside a lock; a name with {...} "
                 "must not end in " +
                 std::string(suffix)};
  }
  return LockKey(std::move(key));
}

std::string fence_key(const LockKey& key) {
  const std::string stem = has_hash_tag(key.get()) ? key.get() : "{" + key.get() + "}";
  return stem + std::string(kFenceSuffix);
}

Token make_token(std::string_view run_id, core::Attempt attempt, const Holder& holder) {
  return Token(std::string(run_id) + "." + std::to_string(attempt.get()) + "@" + holder.host + ":" +
               std::to_string(holder.pid) + ":" + std::to_string(holder.since));
}

std::optional<Holder> parse_holder(std::string_view token) {
  const std::size_t at = token.find('@');
  if (at == std::string_view::npos || at < kRunIdDigits + 2) return std::nullopt;
  const std::string_view attempt = token.substr(kRunIdDigits + 1, at - kRunIdDigits - 1);
  const std::string_view run_id = token.substr(0, kRunIdDigits);
  if (!std::all_of(run_id.begin(), run_id.end(), is_hex_digit) || token[kRunIdDigits] != '.' ||
      !std::all_of(attempt.begin(), attempt.end(), is_digit)) {
    return std::nullopt;
  }
  std::string_view rest = token.substr(at + 1);
  const auto since = take_last_number(rest);
  if (!since) return std::nullopt;
  const auto pid = take_last_number(rest);
  if (!pid || *pid == 0 || rest.empty()) return std::nullopt;
  return Holder{printable(rest, 255), *pid, *since};
}

}  // namespace redlock::redis
