#include "redis/printable.h"

#include <cstdint>

namespace redlock::redis {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Bytes of the valid, printable UTF-8 character at the start of `text`; 0 when there is none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first < 0x20 || first == 0x7F ? 0 : 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
    point = (point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  // U+0080..U+009F are control characters, U+2028 and U+2029 end lines.
  const bool control = point <= 0x9F || point == 0x2028 || point == 0x2029;
  return overlong || surrogate || control || point > 0x10FFFF ? 0 : length;
}

std::string escaped(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0x0FU]};
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  constexpr std::string_view kEllipsis = "...";
  std::string result;
  std::size_t cut = 0;  // where the ellipsis would go
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length == 0 ? escaped(text.front()) : std::string(text.substr(0, length));
    if (result.size() > limit) {
      result.resize(cut);
      return result.append(kEllipsis.substr(0, limit - cut));
    }
    if (result.size() + kEllipsis.size() <= limit) cut = result.size();
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace redlock::redis
