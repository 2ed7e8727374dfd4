// An optional value that most of many have not.
#pragma once

#include <memory>
#include <utility>

namespace actorrun::core {

/// As `std::optional`, but takes a pointer only where there is no value, and has none
/// when it was moved from.
template <class T>
class rare_value {
public:
  rare_value() = default;
  rare_value(T x) : value_(std::make_unique<T>(std::move(x))) {}
  rare_value(const rare_value& other)
    : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  rare_value(rare_value&&) noexcept = default;
  rare_value& operator=(const rare_value& other) {
    return *this = rare_value{other};
  }
  rare_value& operator=(rare_value&&) noexcept = default;
  ~rare_value() = default;

  T& emplace() { return *(value_ = std::make_unique<T>()); }
  void reset() { value_.reset(); }

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }

  /// @pre `has_value()`, as of the next ones
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const rare_value& a, const rare_value& b) {
    return a && b ? *a == *b : a.has_value() == b.has_value();
  }

private:
  std::unique_ptr<T> value_; ///< Null: there is none.
};

} // namespace actorrun::core
