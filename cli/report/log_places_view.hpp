// Says where the log files of jobs are.
#pragma once

#include "runtime/past_logs.hpp"

#include "messages/job.pb.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::cli {

/// Those of the agents of a job, in order of their hosts.
std::vector<log_place> places_of(const v1::JobStatus& job,
                                 const std::vector<log_place>& all);

/// Those of a job that was there from one moment to another, Unix time; in order of
/// their hosts.
std::vector<log_place> places_of(const std::string& job, int64_t from_ms,
                                 int64_t to_ms,
                                 const std::vector<log_place>& all);

/// `n1:/var/log/job1_x7d2`
std::string place_text(const log_place& x);

/// `  logs: n1:/var/log/job1_x7d2, n2:/var/log/job1_b81q`, with a line end; at most
/// four are named. Empty if there are none.
std::string places_line(const std::vector<log_place>& places);

/// Of an agent; null: it has noted none where we read.
nlohmann::ordered_json folder_of(const std::string& agent,
                                 const std::vector<log_place>& all);

} // namespace actorrun::cli
