// What the machine knows of a worker's death beyond its status.
#pragma once

#include "actors/core/epoch.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/ports/process_host.hpp"

namespace actorrun::ports {

class failure_evidence {
public:
  virtual ~failure_evidence() = default;

  /// Workers are about to start: what the kernel has counted up to now is not
  /// theirs.
  virtual void begin() = 0;

  /// Looks at error file, standard error and the kernel's counters. Bounded in
  /// time and size; a file that is missing, foreign, torn or huge is part of
  /// what is found, never an error.
  virtual core::death_details examine(const process_exited& death,
                                      const core::worker_outputs& outputs)
    = 0;

  /// The same for a worker that never ran.
  virtual core::death_details examine(const process_not_started& death,
                                      const process_spec& spec)
    = 0;
};

} // namespace actorrun::ports
