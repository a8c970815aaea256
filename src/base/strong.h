// Types for the things that are easily confused because all of them are strings or numbers. None
// converts to another: releasing a lock by its name instead of its token does not compile.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace redlock {

/// A value of type T that is only comparable with, and only assignable from, its own kind.
template <class Tag, class T>
class Strong {
 public:
  Strong() = default;
  explicit constexpr Strong(T value) : value_(std::move(value)) {}

  constexpr const T& get() const { return value_; }

  friend constexpr auto operator<=>(const Strong&, const Strong&) = default;
  friend constexpr bool operator==(const Strong&, const Strong&) = default;

 private:
  T value_{};
};

/// The lock's name as the user gave it: any non-empty bytes.
using LockName = Strong<struct LockNameTag, std::string>;
/// The Redis key made of it: prefix + name, exact bytes.
using LockKey = Strong<struct LockKeyTag, std::string>;
/// Proof of ownership: the whole value stored under the key, unique to one attempt.
using Token = Strong<struct TokenTag, std::string>;
/// A server that votes, counted from 0.
using NodeIndex = Strong<struct NodeIndexTag, std::size_t>;
/// The number that grows with each acquisition of a name. 0 means none.
using FencingToken = Strong<struct FencingTokenTag, std::uint64_t>;

}  // namespace redlock
