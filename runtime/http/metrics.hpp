// Renders what a process knows of its job and its node as metrics for Prometheus.
#pragma once

#include "runtime/http/exposition.hpp"
#include "runtime/http/regroup_times.hpp"

#include "messages/job.pb.h"

#include <string>
#include <vector>

namespace actorrun::detail {

/// What a scrape shows; null: it is not known, or not of this process.
struct metrics_input {
  const v1::JobStatus* job = nullptr; ///< From the coordinator of this process.
  const v1::JobStatus* node = nullptr; ///< What its agent says of its own node.
  const regroup_times* regroups = nullptr;
  bool has_coordinator = false; ///< Whether it answers or not.
  bool has_agent = false;       ///< Likewise.
  bool is_elected = false;      ///< Agents or etcd elect the coordinator.
};

/// All families, in the order in which they are served.
std::vector<const metric_family*> metric_families();

/// `host` is that of the process.
std::string metrics_text(const metrics_input& x, const std::string& job_id,
                         const std::string& host);

} // namespace actorrun::detail
