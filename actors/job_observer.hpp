// EXTENSION POINT: tells actors of a host program about the generations of a job.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/caf.hpp"

#include <cstdint>
#include <string>

namespace actorrun {

/// A generation has formed, in which this node takes part.
struct generation_begun {
  core::generation_plan plan; ///< With this node's share.
  std::string reason{}; ///< Why there is a new one; empty: it is the first.

  /// 1, 2, 3…, as people see it.
  uint64_t number() const { return number_of(plan.generation); }
};

/// The generation is over: its workers are being stopped, or were killed because the
/// coordinator does not answer.
struct generation_over {
  generation_id generation;
  std::string reason{}; ///< One line.

  /// As above.
  uint64_t number() const { return number_of(generation); }
};

/// The job has ended.
struct job_over {
  core::outcome result;
};

/// An OBSERVER is notified of each generation once that it has formed, and once that
/// it is over. An agent that leaves the job before its end tells nothing more:
/// `launcher_hooks::on_ended` does.
using job_observer_actor
  = interface<void(generation_begun), void(generation_over), void(job_over)>;

} // namespace actorrun

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_observers, ACTORRUN_FIRST_TYPE_ID + 250)
ACTORRUN_LOCAL_TYPE(actorrun_observers, actorrun::generation_begun)
ACTORRUN_LOCAL_TYPE(actorrun_observers, actorrun::generation_over)
ACTORRUN_LOCAL_TYPE(actorrun_observers, actorrun::job_over)
ACTORRUN_END_LOCAL_TYPES(actorrun_observers)
