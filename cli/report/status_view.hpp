// Renders the status of jobs, for people and for programs.
#pragma once

#include "cli/report/ended_view.hpp"
#include "cli/report/exit_code.hpp"
#include "runtime/past_logs.hpp"
#include "runtime/status_json.hpp"

#include "messages/job.pb.h"

#include <string>
#include <vector>

namespace actorrun::cli {

/// One paragraph per job: a line on the job, why it waits or is degraded, a line
/// per agent. Ends with a line end.
/// @param is_wide Also times, the load of nodes, a line per worker and per
/// generation.
/// @param places  Where log files are.
std::string to_text(const std::vector<v1::JobStatus>& jobs,
                    bool is_wide = false,
                    const std::vector<log_place>& places = {});

/// `{"schema": 1, "jobs": [ … ], "ended": [ … ]}`; counts and pids are numbers,
/// what is not known is null. Ends with a line end.
std::string to_json(const std::vector<v1::JobStatus>& jobs,
                    const std::vector<ended_job>& ended = {},
                    const std::vector<log_place>& places = {});

/// The same with the jobs that have ended below.
std::string to_text(const std::vector<v1::JobStatus>& jobs,
                    const std::vector<ended_job>& ended, bool is_wide,
                    const std::vector<log_place>& places = {});

/// `succeeded`: all are healthy; `workers_failed`: one is not, or waits;
/// `rendezvous_failed`: there is none. Where none runs, those that have ended
/// count: the newest must have succeeded.
exit_code exit_code_of(const std::vector<v1::JobStatus>& jobs,
                       const std::vector<ended_job>& ended);

/// `12.3 ms`
std::string regroup_text(uint64_t us);

/// One row for each GPU and for each node whose driver fails, below a heading;
/// empty if there are none.
std::vector<std::vector<std::string>> gpu_rows(const v1::JobStatus& job);

} // namespace actorrun::cli
