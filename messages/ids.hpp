// Defines a type for each kind of id, so that they cannot be mixed up, and the
// text that ids which many hold are made of.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
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

/// A value that only means something as an id of one kind.
template <class Tag, class Rep>
struct strong_id {
  Rep value{};

  friend auto operator<=>(const strong_id&, const strong_id&) = default;
};

/// One launch of one program over many workers; torchrun's `--rdzv-id`.
using job_id = strong_id<struct job_tag, std::string>;

/// One agent process, never used again: `<host>-<pid>-<8 random hex digits>`.
/// Each is held in many places.
using agent_id = strong_id<struct agent_tag, shared_text>;

/// Names an agreed membership; 0 is none. It is the fencing token: an agent,
/// coordinator or storage that has seen a greater one refuses the lesser. Its low
/// bits are the number that people see, 1, 2, 3…; above them is a term: 0, or the
/// time, in milliseconds, at which a coordinator began that did not know all
/// earlier numbers. So tokens grow even where no process is left that knows the
/// last, and numbers do not fall where one is. All tokens are below 2^63.
using generation_id = strong_id<struct generation_tag, uint64_t>;

inline constexpr auto generation_number_bits = 20U;
inline constexpr auto generation_number_max
  = (uint64_t{1} << generation_number_bits) - 1;
inline constexpr auto generation_max = generation_id{(uint64_t{1} << 63U) - 1};

/// The number that people see, 0..`generation_number_max`; 0: none.
constexpr uint64_t number_of(const generation_id& x) {
  return x.value & generation_number_max;
}

constexpr uint64_t term_of(const generation_id& x) {
  return x.value >> generation_number_bits;
}

/// @pre `term` < 2^43
constexpr generation_id generation_of(uint64_t term, uint64_t number) {
  return {(term << generation_number_bits) | number};
}

/// The least that has neither a lower term nor a lower number than these.
constexpr generation_id later(const generation_id& a, const generation_id& b) {
  return generation_of(std::max(term_of(a), term_of(b)),
                       std::max(number_of(a), number_of(b)));
}

/// Above all of its term, with the same number.
constexpr generation_id next_term(const generation_id& x) {
  return generation_of(term_of(x) + 1, number_of(x));
}

/// After the last number comes 1, in the next term.
constexpr generation_id next_after(const generation_id& x) {
  return number_of(x) < generation_number_max
           ? generation_id{x.value + 1}
           : generation_of(term_of(x) + 1, 1);
}

/// One arming of one timer, never used again; 0 is none.
using timer_id = strong_id<struct timer_tag, uint64_t>;

template <class Tag>
std::string to_string(const strong_id<Tag, uint64_t>& x) {
  return std::to_string(x.value);
}

/// For people: its number.
inline std::string to_string(const generation_id& x) {
  return std::to_string(number_of(x));
}

template <class Tag>
const std::string& to_string(const strong_id<Tag, std::string>& x) {
  return x.value;
}

inline const std::string& to_string(const agent_id& x) {
  return x.value;
}

} // namespace actorrun

template <class Tag, class Rep>
struct std::hash<actorrun::strong_id<Tag, Rep>> {
  size_t operator()(const actorrun::strong_id<Tag, Rep>& x) const {
    return std::hash<Rep>{}(x.value);
  }
};

template <>
struct std::hash<actorrun::shared_text> {
  size_t operator()(const actorrun::shared_text& x) const {
    return std::hash<std::string>{}(x);
  }
};
