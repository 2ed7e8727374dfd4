// Names the alarms of an agent's membership.
#pragma once

#include "actors/core/machine_step.hpp"
#include "actors/core/protocol/membership_events.hpp"

namespace actorrun::core {

enum class membership_alarm {
  retry,
  seek,
  timeout,
  keep_alive,
  fence,
  parting,
  drain,
  second_way,
  notice,
};

using membership_step = machine_step<membership_effect, membership_alarm,
                                     size_t(membership_alarm::notice) + 1>;

} // namespace actorrun::core
