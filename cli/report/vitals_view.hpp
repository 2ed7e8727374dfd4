// Renders how nodes and workers are doing, for people.
#pragma once

#include "messages/job.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::cli {

// `-` is not known.

/// `512 B`, `1.2 GiB`: three digits at least, one place behind the point.
std::string size_text(uint64_t bytes);

/// The two largest units: `4s`, `3m 12s`, `2h 5m`, `12d 3h`.
std::string span_text(uint64_t ms);

/// The cells of a node's row, and the heading of these.
std::vector<std::string> node_vitals_heading();
std::vector<std::string> node_vitals_cells(const v1::AgentStatus& agent);

/// One row for each worker, by rank, below a heading; empty if there are none.
std::vector<std::vector<std::string>> worker_rows(const v1::JobStatus& job);

} // namespace actorrun::cli
