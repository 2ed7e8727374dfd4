// Bounds how many lines of a log others can cause.
#pragma once

#include "actors/core/time.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace actorrun::core {

/// Some at once, and then so many per time. What is beyond that is counted.
class line_budget {
public:
  /// @param burst How many at once, at most; ≥ 1.
  /// @param pause Until there is room for another one, > 0.
  line_budget(uint32_t burst, duration pause)
    : burst_(burst), pause_(pause), left_(burst) {}

  /// Whether another line may be written now.
  bool take(time_point now) {
    const auto fresh = std::min<int64_t>((now - filled_) / pause_, burst_);
    left_ = std::min<int64_t>(left_ + fresh, burst_);
    filled_ = left_ == burst_ ? now : filled_ + fresh * pause_;
    if (left_ == 0) {
      ++left_out_;
      return false;
    }
    --left_;
    return true;
  }

  /// How many have not been written since the last call.
  uint64_t take_left_out() { return std::exchange(left_out_, 0); }

private:
  int64_t burst_;
  duration pause_;
  int64_t left_;
  time_point filled_{};
  uint64_t left_out_ = 0;
};

} // namespace actorrun::core
