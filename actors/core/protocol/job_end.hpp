// Records how far the end of a job has come.
#pragma once

#include "actors/core/generation.hpp"

#include <optional>

namespace actorrun::core {

struct job_end {
  std::optional<outcome> result{}; ///< None: the job goes on.
  /// It was decided before this coordinator began.
  bool was_before = false;
  /// It must be known elsewhere before any agent acts on it.
  bool writes = false;
  bool is_told = false; ///< To all agents that were here then.
  bool is_closed = false;
};

} // namespace actorrun::core
