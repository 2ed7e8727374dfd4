// Names the phases of a job, as its coordinator decides.
#pragma once

#include <string>

namespace actorrun::core {

/// `rendezvous` has the chart.
enum class rendezvous_phase {
  gathering,
  last_call,
  starting,
  running,
  stopping,
  ended,
};

std::string to_string(rendezvous_phase x);

} // namespace actorrun::core
