// A value, or the reason why there is none. For failures of the environment and of input; expected
// outcomes are enums, bugs are RR_ASSERT.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace redlock {

/// What went wrong, in words for the user: names the subject, what happened and the way out.
struct Error {
  std::string message;
};

/// Holds a T or an Error. Reading the wrong one is a bug and aborts.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(content_); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    RR_ASSERT(ok());
    return std::get<T>(content_);
  }
  const T& value() const& {
    RR_ASSERT(ok());
    return std::get<T>(content_);
  }
  T&& value() && {
    RR_ASSERT(ok());
    return std::get<T>(std::move(content_));
  }
  const Error& error() const {
    RR_ASSERT(!ok());
    return std::get<Error>(content_);
  }

 private:
  std::variant<T, Error> content_;
};

}  // namespace redlock
