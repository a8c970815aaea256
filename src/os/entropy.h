// Chance from the kernel, for tokens that must not repeat and for jitter.
#pragma once

#include <cstdint>
#include <string>

namespace redlock::os {

/// 64 bits from getrandom(2).
std::uint64_t random_bits();

/// 128 bits from getrandom(2) as 32 lower-case hex digits.
std::string random_id();

}  // namespace redlock::os
