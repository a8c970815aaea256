#include "sim/trace.h"

#include <algorithm>

namespace redlock::sim {
namespace {

/// "12.345678 s", in a column.
std::string time_text(TimePoint now) {
  const std::string us = std::to_string(now.ns() / 1000 % 1'000'000);
  const std::string seconds = std::to_string(now.ns() / 1'000'000'000);
  return std::string(seconds.size() < 4 ? 4 - seconds.size() : 0, ' ') + seconds + "." +
         std::string(6 - us.size(), '0') + us + " s";
}

}  // namespace

std::string host_name(std::size_t index) {
  if (index < 26) return std::string(1, static_cast<char>('a' + index));
  return "h" + std::to_string(index);
}

void Trace::note(TimePoint now, std::size_t host, std::string_view what, std::size_t node,
                 std::uint64_t value) {
  fold(static_cast<std::uint64_t>(now.ns()));
  fold(host * 64 + node);
  fold(value);
  for (const char c : what) fold(static_cast<std::uint64_t>(c));
  if (!readable_) return;
  std::string line = time_text(now) + "  " + (host == kNobody ? "-" : host_name(host)) + "  ";
  for (std::size_t i = 0; i < what.size(); ++i) {
    const bool escape = what[i] == '%' && i + 1 < what.size();
    if (escape && what[i + 1] == 'n') {
      line += std::to_string(node + 1);
      ++i;
    } else if (escape && what[i + 1] == 'v') {
      line += std::to_string(value);
      ++i;
    } else {
      line += what[i];
    }
  }
  lines_.push_back(std::move(line));
}

}  // namespace redlock::sim
