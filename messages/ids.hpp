// Defines a type for each kind of id, so that they cannot be mixed up.
#pragma once

#include "messages/shared_text.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace actorrun {

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

/// Number of an agreed membership, 1, 2, 3…; 0 is none. It is the fencing
/// token: an agent or coordinator that has a newer one refuses the older.
using generation_id = strong_id<struct generation_tag, uint64_t>;

/// A generation's number is made of a term, which is 0 or the time, in
/// milliseconds, at which a coordinator began that knew of no earlier one, and a
/// count from 1 within the term. So numbers grow even where no process is left that
/// knows the last. A job cannot begin so many generations in a millisecond; if it
/// has more altogether, the count goes on into later terms. All numbers are below
/// 2^53, so JSON readers keep them exact.
inline constexpr uint64_t generations_per_term = 4096;
inline constexpr auto generation_max = generation_id{(uint64_t{1} << 53U) - 1};

/// One arming of one timer, never used again; 0 is none.
using timer_id = strong_id<struct timer_tag, uint64_t>;

template <class Tag>
std::string to_string(const strong_id<Tag, uint64_t>& x) {
  return std::to_string(x.value);
}

/// For people: the count within its term.
inline std::string to_string(const generation_id& x) {
  const auto count
    = x.value == 0 ? 0 : (x.value - 1) % generations_per_term + 1;
  return std::to_string(count);
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
