// The environment variables of one worker.
#pragma once

#include "actorrun/actors/core/epoch.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace actorrun::core {

/// What does not change from epoch to epoch.
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
};

/// Everything a worker finds in its environment: what its agent has, and over
/// it what tells it who it is.
///
/// @param inherited `NAME=value` each; of a name that occurs twice the last
///                  counts.
/// @param local_rank 0..`plan.own.slot_count`-1
/// @param error_file Where the worker may say why it fails; empty: nowhere.
/// @returns `NAME=value` by ascending name, each name once.
/// @see torch/distributed/elastic/agent/server/local_elastic_agent.py sets the
///      same names. We add ACTORRUN_EPOCH and ACTORRUN_JOB_ID, and our
///      TORCHELASTIC_RESTART_COUNT is equal on all nodes.
std::vector<std::string>
worker_environment(std::span<const std::string> inherited,
                   const job_environment& job, const epoch_plan& plan,
                   uint32_t local_rank, const std::string& error_file = {});

} // namespace actorrun::core
