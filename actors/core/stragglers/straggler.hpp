// Describes the workers that are slower than the others, and says so.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::core {

/// What follows when a worker of a node is slower than the others.
enum class straggler_action : uint8_t {
  report, ///< It is named.
  check,  ///< The checks of its node run, beside the workers.
  drain,  ///< Its node leaves when another one can take its place.
};

/// When a worker counts as slower than the others, and what follows.
struct straggler_limits {
  /// So many times the usual difference between workers, as `find_stragglers` has it;
  /// 0: none is ever slower.
  uint32_t distance = 6;
  uint32_t windows = 5; ///< In a row, in each of which it is; 1 or more.
  straggler_action action = straggler_action::report;

  friend bool operator==(const straggler_limits&, const straggler_limits&)
    = default;
};

inline constexpr uint32_t straggler_distance_max = 1'000;
inline constexpr uint32_t straggler_windows_max = 100;

/// A worker that is slower than the others.
struct straggler {
  uint32_t global_rank = 0;
  std::string host;
  duration compute{0}; ///< Per step.
  duration usual{0};   ///< The median of all workers.

  friend bool operator==(const straggler&, const straggler&) = default;
};

/// So many are named.
inline constexpr size_t stragglers_named_max = 16;

/// `rank 5 on n2 computes for 121 ms per step, the others for 100 ms`; of several:
/// `3 workers compute longer per step than the others (100 ms): rank 5 on n2 (121 ms), …`
/// @param named The slowest first; at least one.
/// @param count Of all of them.
std::string sentence_of(const std::vector<straggler>& named, uint32_t count);

} // namespace actorrun::core
