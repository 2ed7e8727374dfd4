// Derives from a seed the job, its machines, and the faults.
#pragma once

#include "actors/core/protocol/membership.hpp"
#include "actors/core/protocol/rendezvous.hpp"
#include "tests/sim/dice.hpp"

#include <optional>
#include <string>

namespace actorrun::sim {

struct scenario {
  uint64_t seed = 0;
  core::job_settings job;
  core::timeouts limits;
  /// Of some of the job's later coordinators; those of the others are `limits`.
  std::optional<core::timeouts> other_limits{};
  /// Coordinators that die leave a journal, which the next one reads.
  bool has_journal = false;
  /// Voters store what a coordinator decides, before others see it, and the next one
  /// knows that. For so long at most; 0: there are none.
  core::duration write_max{};
  /// The clocks of their hosts differ by up to so much.
  core::duration clocks_differ{};
  std::chrono::milliseconds grace{300};
  std::chrono::milliseconds kill_timeout{200};
  uint32_t agent_count = 1; ///< At the start.
  uint32_t slot_count_max = 1;
  core::duration tick{0};  ///< Of all clocks; 0: they are precise.
  bool embedded = false;   ///< Agent 0's process hosts the coordinator.
  bool elected = false;    ///< A node that is elected hosts it: by etcd, …
  bool voting = false;     ///< … or by the agents themselves.
  bool restless = false;   ///< Nodes come and go.
  bool wavering = false;   ///< Changes wait for safe points, again and again.
  bool flapping = false;   ///< A node is cut off, again and again.
  bool duplicates = false; ///< Some messages arrive twice.
  bool harmless = false;   ///< Only faults that may not cost a generation.
  bool gpu_faults = false; ///< GPUs of nodes fail.
  core::duration registry_lease{}; ///< Of the elected leader.
  core::duration message_delay_max{};
  core::duration start_delay_max{}; ///< Between the starts of two workers.
  /// Starts whose preparations (folders, files) stall for up to this time.
  uint32_t stalled_start_percent = 0;
  core::duration start_stall_max{};
  /// Longest delay from an agent's death to that of its workers.
  core::duration orphan_delay_max{};
  /// Of the processes that die, those whose warden dies in the same instant.
  uint32_t no_warden_percent = 0;
  uint32_t role_percent = 0;     ///< Nodes with a role of their own.
  core::duration work{};         ///< How long a worker works.
  core::duration fault_window{}; ///< No fault begins later.
  uint32_t fault_count = 0;
  core::restart_rules rules{};
  bool keeps_list = false;        ///< Of excluded hosts, beyond coordinators.
  uint32_t slow_stop_percent = 0; ///< Workers that obey late …
  uint32_t no_stop_percent = 0;   ///< … or only SIGKILL.
  uint32_t spare_count = 0;       ///< Of each agent, beside live workers.
  uint32_t live_percent = 0;      ///< Workers that can live through a change.
  core::duration step_max{};      ///< Of such workers; 0: no safe points.

  /// Longest pause or partition.
  core::duration trouble_max{};

  /// The first agent comes so late that others have all places: the leader's process
  /// has no workers.
  bool is_leader_spare = false;
  bool is_shrinking = false; ///< Nodes are lost one by one, down to one.

  /// What a coordinator decides is stored before others see it.
  bool has_voters() const { return voting || write_max.count() > 0; }

  /// The longest that a coordinator grants.
  core::duration lease_max() const {
    return other_limits ? std::max(limits.lease(), other_limits->lease())
                        : limits.lease();
  }

  /// Within this time without faults there is a coordinator.
  core::duration election_bound() const;

  /// Within this time without faults a generation runs, or the job has ended.
  core::duration recovery_bound() const;

  /// Within this time every agent has finished.
  core::duration ending_bound() const;
};

/// A scenario with all kinds of faults.
scenario roll_scenario(uint64_t seed);

/// A scenario with cuts shorter than the lease and coordinators that come back
/// in time: no fault that may stop a worker.
scenario roll_harmless(uint64_t seed);

/// A job whose agents elect the coordinator, with all kinds of faults.
scenario roll_voting(uint64_t seed);

/// The same, with one fault at a time that may not stop a worker.
scenario roll_quiet_voting(uint64_t seed);

/// The same, whose nodes are lost one lease apart, down to one.
scenario roll_shrinking(uint64_t seed);

/// One line, printed at the beginning of a history.
std::string to_string(const scenario& x);

} // namespace actorrun::sim
