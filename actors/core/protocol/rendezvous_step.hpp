// Names the alarms of a job's rendezvous.
#pragma once

#include "actors/core/machine_step.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"

namespace actorrun::core {

enum class rendezvous_alarm {
  lease,
  join,
  last_call,
  quiet,
  settle,
  ahead,
  safe_point,
  recovery,
  outcome,
  stand_by,
  next_start,
  close,
};

using rendezvous_step = machine_step<rendezvous_effect, rendezvous_alarm,
                                     size_t(rendezvous_alarm::close) + 1>;

} // namespace actorrun::core
