// Renders the status of jobs, for people and for programs.
#pragma once

#include "runtime/status_json.hpp"

#include "messages/job.pb.h"

#include <string>
#include <vector>

namespace actorrun::cli {

/// Adds the answer of one process, unless another process has reported the same job
/// and knows more: a coordinator's answer covers all agents of its job.
void add_job(std::vector<v1::JobStatus>& jobs, v1::JobStatus status);

/// One paragraph per job: a line on the job, why it waits, a line per agent.
/// Ends with a line end.
/// @param is_wide Also the load of nodes, and a line per worker.
std::string to_text(const std::vector<v1::JobStatus>& jobs,
                    bool is_wide = false);

/// `{"version": 1, "jobs": [ … ]}`; counts and pids are numbers, what is not
/// known is null. Ends with a line end.
std::string to_json(const std::vector<v1::JobStatus>& jobs);

/// One row for each GPU and for each node whose driver fails, below a heading;
/// empty if there are none.
std::vector<std::vector<std::string>> gpu_rows(const v1::JobStatus& job);

} // namespace actorrun::cli
