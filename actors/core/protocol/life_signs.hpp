// Decides whether agents are told to go on in the name of whoever decides.
#pragma once

#include "actors/core/time.hpp"

#include <algorithm>
#include <optional>

namespace actorrun::core {

/// Agents hear that all is well from the links' side, which does not decide. If whoever
/// decides has given no sign for as long as a lease lasts, they are told nothing any
/// more: their workers end and they look for another coordinator, rather than run on
/// with one that notices no failure and no loss.
class life_signs {
public:
  /// @param silence_max Longest time without a sign, > 0.
  explicit life_signs(duration silence_max) : silence_max_(silence_max) {}

  /// Whoever decides has had its turn.
  void give(time_point now) {
    given_ = now;
    asked_.reset();
  }

  /// Whether it is to be asked for a sign: once per half of that time without one.
  bool is_wanted(time_point now) {
    const auto last = std::max(given_, asked_);
    if (!last || now - *last < silence_max_ / 2)
      return false;
    asked_ = now;
    return true;
  }

  /// Whether it has given none for too long; not before it has given the first.
  bool are_missing(time_point now) const {
    return given_ && now - *given_ > silence_max_;
  }

private:
  duration silence_max_;
  std::optional<time_point> given_; ///< The last; none: there was none.
  std::optional<time_point> asked_; ///< Since then.
};

} // namespace actorrun::core
