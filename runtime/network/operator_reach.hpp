// Reaches a process of a job, to ask it as an operator.
#pragma once

#include "runtime/network/operator_client.hpp"
#include "runtime/options.hpp"
#include "runtime/status.hpp"

#include <chrono>

namespace actorrun::detail {

/// A connection, and when the first reply is due.
struct reached {
  operator_client whom;
  operator_client::time_point due;
};

/// Blocks for at most `limit`; see `ask_status` for the errors of both.
result<reached> reach(const local_job& job, std::chrono::milliseconds limit);

/// The coordinator of a job on any host. Blocks for at most twice `limit`.
/// @pre the job has a rendezvous
result<reached> reach(const job_options& job, std::chrono::milliseconds limit);

} // namespace actorrun::detail
