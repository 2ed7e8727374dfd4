// A text that many hold.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun {

/// A text that is not changed any more: its copies are one in memory, in all threads.
class shared_text {
public:
  shared_text() = default;
  shared_text(std::string x)
    : text_(x.empty() ? nullptr
                      : std::make_shared<const std::string>(std::move(x))) {}
  shared_text(std::string_view x) : shared_text(std::string{x}) {}
  shared_text(const char* x) : shared_text(std::string{x}) {}

  const std::string& get() const {
    static const auto none = std::string{};
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return get(); }
  operator std::string_view() const { return get(); }

  bool empty() const { return !text_; }
  size_t size() const { return get().size(); }

  friend bool operator==(const shared_text& a, const shared_text& b) {
    return a.text_ == b.text_ || a.get() == b.get();
  }
  friend std::strong_ordering operator<=>(const shared_text& a,
                                          const shared_text& b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal
                              : a.get() <=> b.get();
  }

  friend std::string operator+(const shared_text& a, std::string_view b) {
    return a.get() + std::string{b};
  }
  friend std::string operator+(std::string_view a, const shared_text& b) {
    return std::string{a} + b.get();
  }

private:
  std::shared_ptr<const std::string> text_; ///< Null: it is empty.
};

} // namespace actorrun

template <>
struct std::hash<actorrun::shared_text> {
  size_t operator()(const actorrun::shared_text& x) const {
    return std::hash<std::string>{}(x);
  }
};
