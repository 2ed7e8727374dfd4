// Decides whether a node may host the coordinator of its job.
#pragma once

#include "runtime/options.hpp"

namespace actorrun::detail {

/// Whether this node hosts its job's coordinator, or may come to: who is elected by
/// etcd is known later. Looks up the rendezvous host's address if it must.
bool may_host_coordinator(const job_options& job, const agent_options& agent);

} // namespace actorrun::detail
