// A value that many hold.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace actorrun::core {

/// A value that is not changed any more: its copies are one in memory, in all
/// threads. Never empty.
template <class T>
class shared_value {
public:
  shared_value() : shared_value(T{}) {}

  /// @param x Whatever a `T` is made from.
  template <class X>
  requires std::constructible_from<T, X> &&(
    !std::same_as<std::remove_cvref_t<X>, shared_value>)shared_value(X&& x)
    : value_(std::make_shared<const T>(std::forward<X>(x))) {}

  // Copied where it would be moved, so that none is left empty.
  shared_value(const shared_value&) = default;
  shared_value& operator=(const shared_value&) = default;
  ~shared_value() = default;

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const shared_value& a, const shared_value& b) {
    return a.value_ == b.value_ || *a.value_ == *b.value_;
  }

private:
  std::shared_ptr<const T> value_;
};

} // namespace actorrun::core
