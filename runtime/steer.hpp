// Passes on what operators want jobs to do.
#pragma once

#include "messages/result.hpp"
#include "runtime/jobs.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <string>

namespace actorrun {

/// What a job has answered.
struct steering_answer {
  bool is_done = false; ///< Else it was refused.
  std::string text;     ///< What was done, or why not; one printable line.
};

/// Asks a job. Only its coordinator does it; another process refuses, and its text says
/// where to ask. Blocks as `ask_status`.
/// @param request One of those that steer (operator.proto); its number is ignored.
/// @retval as `ask_status`
result<steering_answer> steer(const located_job& job,
                              const v1::OperatorRequest& request,
                              std::chrono::milliseconds limit);

} // namespace actorrun
