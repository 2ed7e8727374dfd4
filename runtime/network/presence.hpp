// Proves that no agent of a job, and no worker of one, runs where loopback
// addresses lead.
//
// Each agent that a coordinator has ever accepted holds a socket with a name of
// the job, and its warden holds it until the workers have ended. The kernel keeps
// such names (abstract Unix addresses) per network namespace, like loopback
// addresses: so whoever can reach a coordinator on loopback is in the list.
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/os/unique_fd.hpp"

#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Enters an agent into the list until the socket is closed everywhere.
/// @param launch What has started it and others together; empty: nothing has. No `/`.
/// @retval errc::system_failure  the system refuses
result<unique_fd> open_presence(const job_fingerprint& job,
                                const agent_id& agent,
                                const std::string& launch = {});

/// True if an agent of the job is in the list that another launch has started. False
/// also if the list cannot be read.
bool is_other_launch_present(const job_fingerprint& job,
                             const std::string& launch);

/// Ends of the ids of all agents of the job that are in the list. None: the list cannot
/// be read.
std::optional<std::vector<std::string>>
present_agents(const job_fingerprint& job);

/// True if no agent of the job is in the list. False also if the list cannot be
/// read.
bool is_no_agent_present(const job_fingerprint& job);

} // namespace actorrun::detail
