// Computes medians of times.
#pragma once

#include "actors/core/time.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace actorrun::core {

/// Of an even number the lower one of the two in the middle. Changes the order.
/// @pre there is one. O(N).
inline duration median_of(std::vector<duration>& x) {
  assert(!x.empty());
  const auto middle = x.begin() + static_cast<ptrdiff_t>((x.size() - 1) / 2);
  std::ranges::nth_element(x, middle);
  return *middle;
}

} // namespace actorrun::core
