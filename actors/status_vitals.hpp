// Adds to the status of a job how its nodes and workers are doing.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/vitals/node_vitals.hpp"
#include "messages/ids.hpp"

#include "messages/job.pb.h"

#include <functional>

namespace actorrun {

struct vitals_of_node {
  const core::node_vitals* what = nullptr; ///< Null: not known.
  core::duration age{0};                   ///< Since they were received.
};

/// Fills what room a status has left: with the nodes first, then with the
/// workers that the agents have, in order. Those that an agent has not reported as
/// its workers are left out.
/// @param of Finds the vitals of an agent's node.
void add_vitals(v1::JobStatus& out,
                const std::function<vitals_of_node(const agent_id&)>& of);

} // namespace actorrun
