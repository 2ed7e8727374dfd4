// Finds out why a worker died, beyond its exit status.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/ports/process_host.hpp"

namespace actorrun::ports {

class failure_evidence {
public:
  virtual ~failure_evidence() = default;

  /// Workers are about to start: what the kernel has counted so far is not about
  /// them.
  virtual void begin() = 0;

  /// Looks at error file, standard error and the kernel's counters. Bounded in
  /// time and size. A file that is missing, foreign, torn or huge is a finding,
  /// not an error.
  virtual core::death_details examine(const process_exited& death,
                                      const core::worker_outputs& outputs)
    = 0;

  /// The same for a worker that never ran.
  virtual core::death_details examine(const process_not_started& death,
                                      const process_spec& spec)
    = 0;

  /// Looks only at the error file of a worker that was being stopped: it may have
  /// failed before.
  virtual core::death_details
  recall([[maybe_unused]] const process_exited& death,
         [[maybe_unused]] const core::worker_outputs& outputs) {
    return {};
  }

  /// How long ago that was, by this host's clock. Never blocks.
  /// @param wall_ms As in `death_details`; not 0.
  virtual core::duration age_of([[maybe_unused]] int64_t wall_ms) {
    return core::duration{0};
  }
};

} // namespace actorrun::ports
