// How the GPUs of a job's nodes stand, as text and as JSON.
#pragma once

#include "messages/job.pb.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace actorrun::cli {

/// One row for each GPU and for each node whose driver fails, below a heading;
/// empty if there are none.
std::vector<std::vector<std::string>> gpu_rows(const v1::JobStatus& job);

/// The GPUs of an agent's node.
nlohmann::ordered_json gpus_to_json(const v1::AgentStatus& agent);

} // namespace actorrun::cli
