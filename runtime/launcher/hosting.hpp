// Decides whether a node may host the coordinator of its job, and where that listens.
#pragma once

#include "runtime/options.hpp"
#include "runtime/os/socket_address.hpp"

#include <optional>
#include <string>
#include <vector>

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

/// Where the job may begin, in an order that all its nodes agree on, however they were
/// told it.
/// @pre the job has a rendezvous
std::vector<endpoint> seeds_of(const job_options& job);

/// Those, for options and people: `a:29400,b:29400`.
/// @pre the job has a rendezvous
std::string meeting_points(const job_options& job);

/// The one of several seeds that this agent is: that of its own address or the first
/// that leads to this host. None: it is none. Looks up names.
std::optional<endpoint> own_seed_of(const job_options& job,
                                    const agent_options& agent);

} // namespace actorrun::detail
