// PUBLIC: names the moments at which a node is checked.
#pragma once

#include "actors/core/time.hpp"

#include <optional>

namespace actorrun::core {

/// Before what a node is checked.
struct check_moments {
  bool join = true;     ///< Its first generation.
  bool failure = true;  ///< The next one, if a worker there was the root cause.
  bool restart = false; ///< Each next one.
  /// Beside its workers, after so long without a check; none: not at all.
  std::optional<duration> every{};

  friend bool operator==(const check_moments&, const check_moments&) = default;
};

} // namespace actorrun::core
