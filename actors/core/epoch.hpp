// What an epoch is: offers go in, placements come out, shares run, an outcome
// ends the job.
#pragma once

#include "actorrun/messages/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// What an agent brings to the next epoch.
struct offer {
  agent_id agent;
  std::string host;    ///< For people and for the order of ranks.
  std::string address; ///< Where others reach it; MASTER_ADDR of node rank 0.
  std::string role = "default";
  uint32_t slot_count = 1;  ///< Workers, 1..`slots_per_agent_max`.
  uint16_t master_port = 0; ///< A free port, reserved; MASTER_PORT if rank 0.
  bool leased = true;       ///< False: it lives in the coordinator's process.

  friend bool operator==(const offer&, const offer&) = default;
};

/// An agent's share of an epoch.
struct placement {
  agent_id agent;
  uint32_t node_rank = 0;
  uint32_t slot_count = 0;
  uint32_t first_global_rank = 0;
  uint32_t first_role_rank = 0; ///< Rank of its first worker in its role.
  uint32_t role_world_size = 0; ///< Workers of its role in the epoch.

  friend bool operator==(const placement&, const placement&) = default;
};

/// An epoch as one of its agents needs to know it.
struct epoch_plan {
  epoch_id epoch;
  placement own;
  uint32_t node_count = 0;
  uint32_t world_size = 0;
  std::string master_address;
  uint16_t master_port = 0;
  uint32_t restart_count = 0; ///< Restarts spent so far by the whole job.

  friend bool operator==(const epoch_plan&, const epoch_plan&) = default;
};

/// How a worker failed.
enum class failure_kind : uint8_t {
  exited,      ///< It ended by itself; `code` is its exit code, 1..255.
  signalled,   ///< A signal that we did not send; `code` is its number.
  not_started, ///< It never ran; `code` is the errno.
};

/// A death that nobody ordered.
struct worker_failure {
  agent_id agent;
  std::string host;
  uint32_t global_rank = 0;
  uint32_t local_rank = 0;
  int64_t pid = 0; ///< 0 if it was not started.
  failure_kind kind = failure_kind::exited;
  int code = 0;
  bool dumped = false; ///< A core file was written.

  friend bool operator==(const worker_failure&, const worker_failure&)
    = default;
};

/// True if starting again cannot help: there is no such program, or the system
/// does not execute it.
bool is_permanent(const worker_failure& x);

/// `rank 3 (local rank 1, pid 4711) on node-b exited with code 7`
std::string to_string(const worker_failure& x);

/// How an agent's workers of one epoch stand.
enum class share_state : uint8_t {
  idle,      ///< There are none, or none any more.
  starting,  ///< Not all have been started.
  running,   ///< All have been started, none has failed.
  succeeded, ///< All have exited with 0.
  failed,    ///< One has failed; the agent stops the others.
  stopping,  ///< Ordered to stop, not all have ended.
};

/// What an agent that comes back says it has.
struct claim {
  epoch_plan plan;
  share_state state = share_state::idle;
  std::optional<worker_failure> failure; ///< Set if `state` is failed.

  friend bool operator==(const claim&, const claim&) = default;
};

/// How a job ended; the same for all its agents.
struct outcome {
  enum class verdict : uint8_t {
    succeeded, ///< Every worker of one epoch has exited with 0.
    failed,    ///< A worker failed and no restart was left.
    stopped,   ///< Somebody asked for it; `signal` says how.
    unmet,     ///< Too few agents came in time.
  };

  verdict kind = verdict::succeeded;
  std::optional<worker_failure> first_failure; ///< Set if failed.
  int signal = 0;                              ///< Set if stopped.
  std::string reason;

  friend bool operator==(const outcome&, const outcome&) = default;
};

std::string to_string(share_state x);
std::string to_string(outcome::verdict x);

} // namespace actorrun::core
