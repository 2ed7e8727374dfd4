#include "runtime/launcher/hosting.hpp"

#include "runtime/os/socket_address.hpp"

namespace actorrun::detail {

bool may_host_coordinator(const job_options& job, const agent_options& agent) {
  if (!job.rendezvous)
    return true;
  if (job.backend == rendezvous_backend::fixed)
    return agent.node_rank == 0U;
  if (job.place == coordinator_place::automatic
      && job.backend == rendezvous_backend::native)
    return names_this_host(job.rendezvous->host);
  return job.place != coordinator_place::elsewhere;
}

} // namespace actorrun::detail
