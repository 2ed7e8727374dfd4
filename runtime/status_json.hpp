// Renders the status of a job as JSON, and reads what it says of an agent.
#pragma once

#include "messages/job.pb.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace actorrun {

/// Of the JSON (docs/status.md). It grows when a program that reads the version
/// before would misread the new one; new members are no such change.
inline constexpr int status_schema = 1;

/// What `actorctl status --json` prints of a job, and its page shows: counts and
/// pids are numbers, what is not known is null.
nlohmann::ordered_json to_json(const v1::JobStatus& job);

/// Whether the agent has ranks in the newest generation.
bool in_generation(const v1::JobStatus& job, const v1::AgentStatus& agent);

/// `running`, `standby`, `away`, …
std::string state_of(const v1::JobStatus& job, const v1::AgentStatus& agent);

/// `good`, `running` or `failed`; empty: it has no checks.
std::string name_of(v1::CheckState x);

/// Null: not known. An agent's list may be old: the pid tells.
const v1::WorkerVitals* vitals_of(const v1::AgentStatus& agent,
                                  uint32_t local_rank);

/// The letter of a worker's state, whatever a peer has sent; 0: not known.
char letter_of(const v1::WorkerVitals& x);

} // namespace actorrun
