// Decides whether a node may host the coordinator of its job, and where that listens.
#pragma once

#include "runtime/options.hpp"
#include "runtime/os/socket_address.hpp"

#include <string>

namespace actorrun::detail {

/// Whether this node hosts its job's coordinator, or may come to: who is elected by
/// etcd is known later. Looks up the rendezvous host's address if it must.
bool may_host_coordinator(const job_options& job, const agent_options& agent);

/// Where a coordinator on this host listens.
struct hosting_place {
  socket_address where;
  std::string announced; ///< How the nodes of the job find this host.
  /// The endpoint names the host and not an address of it, so it listens at all.
  bool is_whole_host = false;
};

/// A name of this host stands for the host, on a job of several nodes also
/// `localhost`: other nodes have another name of it. A number stands for one address,
/// and no other is listened at (decision 0050). Looks up names.
/// @pre the job has a rendezvous
/// @retval errc::unresolvable  the host has no address
result<hosting_place> place_of_coordinator(const job_options& job);

} // namespace actorrun::detail
