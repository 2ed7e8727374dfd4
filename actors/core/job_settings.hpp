// Describes the settings that must be equal on all agents of a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace actorrun::core {

struct job_settings {
  uint32_t agent_count_min = 1;
  uint32_t agent_count_max = 1;
  uint32_t restart_count_max = 0;
  bool ranked = false; ///< Nodes bring their ranks; the counts are equal.
  /// Of every coordinator that the job may get, where each node may become it:
  /// a successor waits for its own lease until the workers of agents that its
  /// predecessor gave theirs are dead. 0 where one node alone hosts it, whose
  /// times count.
  std::chrono::milliseconds lease{};

  friend bool operator==(const job_settings&, const job_settings&) = default;
};

/// `2:8`, or `2` if there is no choice.
std::string nodes_asked(const job_settings& x);

/// `--nnodes=2:8 --max-restarts=3`
std::string to_string(const job_settings& x);

/// `x` for people, with the settings in which it differs from `other`.
std::string describe(const job_settings& x, const job_settings& other);

} // namespace actorrun::core
