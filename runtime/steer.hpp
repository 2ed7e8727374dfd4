// PUBLIC: asks jobs on this and other hosts to change what they do.
#pragma once

#include "messages/result.hpp"
#include "runtime/options.hpp"
#include "runtime/status.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <string>

namespace actorrun {

/// What a job has answered.
struct steering_answer {
  bool is_done = false; ///< Else it was refused.
  std::string text;     ///< What was done, or why not; one printable line.
};

/// Asks a process of this host, as the user who runs it. Only the coordinator's
/// does it; another one refuses, and its text says where to ask. Blocks for at most
/// `limit`.
/// @param request One of those that steer (operator.proto); its number is ignored.
/// @retval as `ask_status`
result<steering_answer> steer(const local_job& job,
                              const v1::OperatorRequest& request,
                              std::chrono::milliseconds limit);

/// The same for the coordinator of a job on any host, which lets only those steer
/// that have proved a secret or a certificate. Blocks for at most twice `limit`.
/// @pre the job has a rendezvous
result<steering_answer> steer(const job_options& job,
                              const v1::OperatorRequest& request,
                              std::chrono::milliseconds limit);

} // namespace actorrun
