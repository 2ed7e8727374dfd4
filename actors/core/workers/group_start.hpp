// Follows the start of a group's workers, and how long it is tried again.
#pragma once

#include "actors/core/shortage.hpp"
#include "actors/core/time.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace actorrun::core {

/// A start that fails because processes, descriptors or memory are used up costs
/// nothing yet: it is tried again after growing pauses, for half a minute.
class group_start {
public:
  void order(time_point now) { ordered_at_ = now; }
  time_point ordered_at() const { return ordered_at_; }

  /// What the workers need is there, and they are being started.
  void begin() { has_begun_ = true; }
  bool has_begun() const { return has_begun_; }

  /// Something is lacking.
  /// @returns whether it is the first time
  bool fall_short(time_point now) {
    const auto is_first = !short_since_;
    if (is_first)
      short_since_ = now;
    return is_first;
  }

  /// Until a start that fails once more has failed.
  /// @pre something is lacking, here and below
  duration left(time_point now) const {
    return *short_since_ + shortage_max - now;
  }

  /// The pause before the next attempt.
  duration pause(time_point now) {
    const auto out = std::min<duration>(next_pause_, left(now));
    next_pause_ = std::min(2 * next_pause_, shortage_pause_max);
    return out;
  }

private:
  time_point ordered_at_{};
  bool has_begun_ = false;
  std::optional<time_point> short_since_;
  std::chrono::milliseconds next_pause_ = shortage_pause_min;
};

} // namespace actorrun::core
