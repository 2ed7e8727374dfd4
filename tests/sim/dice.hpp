// Provides all randomness of a simulation from one seed.
#pragma once

#include "actors/core/time.hpp"

#include <cassert>
#include <random>
#include <vector>

namespace actorrun::sim {

/// Rolls the same numbers for the same seed on every machine; the standard
/// distributions do not promise that.
class dice {
public:
  explicit dice(uint64_t seed) : engine_(seed) {}

  /// @returns a number in `low`..`high`, both included
  uint64_t between(uint64_t low, uint64_t high) {
    assert(low <= high);
    return low + engine_() % (high - low + 1);
  }

  core::duration between(core::duration low, core::duration high) {
    return core::duration{
      int64_t(between(uint64_t(low.count()), uint64_t(high.count())))};
  }

  bool percent(uint32_t probability) { return between(1, 100) <= probability; }

  /// @pre `xs` is not empty
  template <class T>
  T& pick(std::vector<T>& xs) {
    return xs[between(0, xs.size() - 1)];
  }

private:
  std::mt19937_64 engine_;
};

} // namespace actorrun::sim
