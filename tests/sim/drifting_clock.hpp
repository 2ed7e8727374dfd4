// Shows a machine's own time, which differs from the true one.
#pragma once

#include "actors/core/time.hpp"

#include <cstdint>

namespace actorrun::sim {

/// Runs a little too fast or too slow, from an hour of its own; never backwards.
struct drifting_clock {
  int64_t parts_per_million = 0;
  core::duration offset{0};

  core::time_point at(core::time_point true_time) const {
    const auto t = true_time.time_since_epoch();
    return core::time_point{t + t * parts_per_million / 1'000'000 + offset};
  }
  /// The first moment at which it shows `x` or later.
  core::time_point when(core::time_point x) const {
    const auto t = x.time_since_epoch() - offset;
    auto out = core::time_point{t - t * parts_per_million / 1'000'000};
    while (at(out) < x)
      out += core::duration{1'000};
    return out;
  }
};

} // namespace actorrun::sim
