// Reads what Slurm tells the tasks of a step, and fills with it what the options
// leave open.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// A step of a job of Slurm, as one of its tasks sees it.
struct slurm_step {
  std::string job;  ///< SLURM_JOB_ID; of an array, each task has its own.
  std::string step; ///< SLURM_STEP_ID
  /// The job as squeue is asked for it alone: `168_3`, a task of an array. By its
  /// number squeue may answer for the whole array.
  std::string queued;
  std::string restart_count; ///< How often the job was requeued; empty: never.
  uint32_t node_count = 1;   ///< ≥ 1
  uint32_t node_rank = 0;    ///< Below `node_count`.
  uint32_t task_count = 1;   ///< ≥ 1
  std::string first_host;    ///< Of node rank 0.
  uint16_t port = 0;         ///< Where the nodes of this step may meet.
  std::optional<uint32_t> gpu_count; ///< On this node; none: it is not said.

  /// The id of the job that this step runs: another one after a requeue, so that it
  /// is not taken for the one that was ended.
  std::string id() const;
};

/// Reads SLURM_STEP_ID and its neighbours.
/// @returns nothing if no step has started this process, or a worker of actorrun or
///          torchrun has: the step is its launcher's
/// @retval errc::bad_argument  a variable is missing or cannot be; the text names it
/// @see srun(1), OUTPUT ENVIRONMENT VARIABLES
result<std::optional<slurm_step>> read_slurm_step(const host_facts& world);

/// The first host of a list as Slurm writes it: `n03` of `n[03-05,9],m1`.
/// @returns an empty text if it is no such list
std::string first_of_host_list(std::string_view list);

/// Fills what the command line and the `PET_…` variables leave open from the step
/// that has started this process, if one has: the number of
/// nodes and of workers, the job id, and where the nodes meet, the last only if
/// nothing is said about the rendezvous.
/// @param notices Gets a line that says what was taken, if anything was.
/// @retval errc::bad_argument  several tasks of the step are on one node, or what
///         is needed of a variable is not there; the text says what to do
result<void> take_slurm_step(const std::vector<given_option>& typed,
                             const host_facts& world, run_settings& settings,
                             std::vector<std::string>& notices);

/// Finds the step whose time limit `--notice-before` means.
/// @retval errc::bad_argument  it is typed, and no step has started this process, or
///         there is no signal to tell the workers with
/// @pre the signals are settled
result<void> settle_time_limit(const std::vector<given_option>& typed,
                               const run_settings& settings,
                               const host_facts& world, run_arguments& out);

} // namespace actorrun::cli
