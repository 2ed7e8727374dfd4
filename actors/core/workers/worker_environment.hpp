// Makes the environment variables of one worker.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// What does not change from generation to generation.
struct job_environment {
  job_id job;
  std::string role = "default";
  uint32_t restart_count_max = 0;
  /// Names, separated by commas; TORCHELASTIC_SIGNALS_TO_HANDLE.
  std::string signals_to_handle = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  /// Path of the timer FIFO; empty: as it is inherited.
  std::string timer_file{};
  /// Where sd_notify(3) sends to; empty: as it is inherited, like the next.
  std::string notify_socket{};
  /// Within what time a worker that has sent a sign of life sends another.
  std::chrono::microseconds watchdog{0};
  /// Where a worker that can live through a change finds its agent; empty: nowhere.
  /// ACTORRUN_CONTROL.
  std::string control_socket{};
  /// Where a worker says how long it computes per step: the beginning of a path; empty:
  /// nowhere. ACTORRUN_STEPS.
  std::string steps_prefix{};
  /// Where NCCL's RAS service of this node listens; empty: as it is inherited, or as NCCL
  /// has it. NCCL_RAS_ADDR.
  std::string ras_address{};
  /// The store at MASTER_ADDR and MASTER_PORT is the agent's; else that of the
  /// worker with rank 0. TORCHELASTIC_USE_AGENT_STORE.
  bool agent_store = false;
  /// Every worker has LOCAL_RANK 0 and sees one device, or none if there are
  /// too few.
  bool virtual_local_rank = false;
  /// CUDA_VISIBLE_DEVICES; empty: as it is inherited.
  std::vector<std::string> visible_devices{};
};

/// The devices that a value of CUDA_VISIBLE_DEVICES names, one text each;
/// without white space around them. A value that names none hides all: one
/// empty text, as torch reads it.
std::vector<std::string> device_names(std::string_view visible);

/// The device that a worker of a node with virtual local ranks sees.
/// @param devices Of the node; empty: they go by number, because nothing names
///                or hides them.
/// @retval errc::bad_argument  there is no device for this local rank
result<std::string> device_of(const std::vector<std::string>& devices,
                              uint32_t local_rank);

/// Everything a worker finds in its environment: what its agent has, and over
/// it the variables that identify it.
///
/// @param inherited `NAME=value` each; of a name that occurs twice the last
///                  counts.
/// @param local_rank 0..`plan.own.slot_count`-1
/// @param error_file Where the worker may say why it fails; empty: nowhere.
/// @returns `NAME=value` by ascending name, each name once.
/// @see torch/distributed/elastic/agent/server/local_elastic_agent.py sets the
///      same names. We add ACTORRUN_GENERATION, ACTORRUN_FENCING_TOKEN (and its
///      former name, ACTORRUN_EPOCH), ACTORRUN_JOB_ID, ACTORRUN_CONTROL and
///      ACTORRUN_STEPS, and our
///      TORCHELASTIC_RESTART_COUNT is equal on all nodes. A worker that is started
///      ahead of its first generation has ACTORRUN_AHEAD in place of what depends on
///      that.
std::vector<std::string>
worker_environment(std::span<const std::string> inherited,
                   const job_environment& job, const generation_plan& plan,
                   uint32_t local_rank, const std::string& error_file = {});

/// The same for a spare, which has no rank of any kind before its first generation.
std::vector<std::string>
spare_environment(std::span<const std::string> inherited,
                  const job_environment& job, generation_plan plan,
                  const std::string& error_file);

/// What differs between the generations of a worker that lives through a change, of
/// the variables that `worker_environment` makes, or that a spare lacks.
std::vector<std::string> generation_environment(const job_environment& job,
                                                const generation_plan& plan,
                                                uint32_t local_rank);

} // namespace actorrun::core
