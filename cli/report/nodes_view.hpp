// Shows every node of a job: what it does, and why it gets no place.
#pragma once

#include "messages/job.pb.h"

#include <string>
#include <vector>

namespace actorrun::cli {

/// A table per job, below a line on it: the nodes that are here by their ranks, hosts
/// that are excluded and have none, and nodes that are gone. Ends with a line end.
std::string nodes_to_text(const std::vector<v1::JobStatus>& jobs);

/// `{"schema": 1, "jobs": [{"job": …, "nodes": [ … ]}]}`; what is not known is null.
/// Ends with a line end.
std::string nodes_to_json(const std::vector<v1::JobStatus>& jobs);

} // namespace actorrun::cli
