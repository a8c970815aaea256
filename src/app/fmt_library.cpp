// The compiled part of fmt, as far as fmt::format() needs it. Debian has no static libfmt, and with
// FMT_HEADER_ONLY everywhere each file that formats would take six times as long to compile.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <string>

namespace {

// With the macro the function is inline. Taking its address makes the compiler emit it all the
// same, for the files that know only its declaration.
[[gnu::used]] std::string (*const kFormat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace
