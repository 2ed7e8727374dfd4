// Holds a value, or why there is none.
#pragma once

#include "messages/errc.hpp"

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace actorrun {

/// Why something could not be done: the code for programs, the text for people.
struct failure {
  errc code = errc::none;
  std::string text; ///< What was wrong and where; one line, no full stop.

  friend bool operator==(const failure&, const failure&) = default;
};

/// The failure of an argument that has the wrong form or is out of range.
inline failure bad_argument(std::string text) {
  return {errc::bad_argument, std::move(text)};
}

/// The failure of the system, or of a library, in what should not fail.
inline failure system_failure(std::string text) {
  return {errc::system_failure, std::move(text)};
}

/// Holds a `T`, or a `failure` with a code other than `errc::none`.
template <class T>
class result {
public:
  result(T value) : content_(std::move(value)) {}
  result(failure why) : content_(std::move(why)) {}

  explicit operator bool() const { return content_.index() == 0; }

  /// @pre holds a value
  T& operator*() {
    assert(*this);
    return std::get<0>(content_);
  }

  const T& operator*() const {
    assert(*this);
    return std::get<0>(content_);
  }

  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  /// @pre holds a failure
  const failure& error() const {
    assert(!*this);
    return std::get<1>(content_);
  }

private:
  std::variant<T, failure> content_;
};

/// What an action returns that has no value to give: nothing, or a `failure`.
template <>
class result<void> {
public:
  result() = default;
  result(failure why) : why_(std::move(why)) {}

  explicit operator bool() const { return !why_; }

  /// @pre holds a failure
  const failure& error() const {
    assert(why_);
    return *why_;
  }

private:
  std::optional<failure> why_;
};

} // namespace actorrun
