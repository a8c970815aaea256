// 128 bits that tell states apart: MurmurHash3 (x64, 128 bit; public domain, A. Appleby) over whole
// words. Among ten million states the chance that any two are taken for one is below 10^-24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace redlock::model {

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

namespace detail {

constexpr std::uint64_t turn(std::uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

constexpr std::uint64_t finish(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace detail

/// A last part of less than 16 bytes counts as filled up with zeros.
inline Fingerprint fingerprint(const void* data, std::size_t size) {
  constexpr std::uint64_t kFirst = 0x87c37b91114253d5ULL;
  constexpr std::uint64_t kSecond = 0x4cf5ad432745937fULL;
  Fingerprint sum;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t at = 0; at < size; at += 16) {
    std::uint64_t word[2] = {0, 0};
    std::memcpy(word, bytes + at, size - at < 16 ? size - at : 16);
    sum.low ^= detail::turn(word[0] * kFirst, 31) * kSecond;
    sum.low = (detail::turn(sum.low, 27) + sum.high) * 5 + 0x52dce729;
    sum.high ^= detail::turn(word[1] * kSecond, 33) * kFirst;
    sum.high = (detail::turn(sum.high, 31) + sum.low) * 5 + 0x38495ab5;
  }
  sum.low ^= size;
  sum.high ^= size;
  sum.low += sum.high;
  sum.high += sum.low;
  sum.low = detail::finish(sum.low);
  sum.high = detail::finish(sum.high);
  sum.low += sum.high;
  sum.high += sum.low;
  return sum;
}

}  // namespace redlock::model
