#include "os/entropy.h"

#include <sys/random.h>

#include "base/assert.h"

namespace redlock::os {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  // Requests of up to 256 bytes are never cut short nor interrupted once the pool is ready.
  RR_ASSERT(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

std::string random_id() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  id.reserve(32);
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = random_bits();
    for (int digit = 0; digit < 16; ++digit, bits >>= 4) id.push_back(kDigits[bits & 15]);
  }
  return id;
}

}  // namespace redlock::os
