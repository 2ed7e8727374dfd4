// Asks jobs on this and other hosts for all that their status has.
#pragma once

#include "actors/core/journal/story.hpp"
#include "messages/result.hpp"
#include "runtime/jobs.hpp"

#include "messages/job.pb.h"
#include "messages/operator.pb.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun {

/// Whether a process takes part in the job with this id, or has this number. Ids
/// are compared by their labels, which are equal for one in 2^32 other ids.
bool is_of_job(const local_job& x, const std::string& job);

/// What a process of this host says of its job.
struct local_status {
  local_job from;
  v1::JobStatus status;
};

/// A process that is there and says nothing.
struct silent_process {
  local_job from;
  failure why;
};

struct local_statuses {
  std::vector<local_status> heard{}; ///< Each job once; two may have one id.
  std::vector<silent_process> silent{};
};

/// Asks the processes of this host, but agents of which a coordinator has told;
/// blocks for at most `limit` for each.
/// @param job The id of a job, or the number of a process of it; empty: all.
/// @retval errc::system_failure  as `find_local_jobs`
result<local_statuses> ask_local_jobs(const std::string& job,
                                      std::chrono::milliseconds limit);

/// Asks a job. Blocks for at most `limit`, and twice that for one by its rendezvous.
/// @pre job options have a rendezvous
/// @retval as `status_of`
result<v1::JobStatus> ask_status(const located_job& job,
                                 std::chrono::milliseconds limit);

/// A job, as its coordinator explains it.
struct job_explanation {
  /// Generations, and at the end the job as it is now.
  std::vector<core::journal::explanation> parts{};
  std::string state{}; ///< As of `core::journal::state_of`.
  bool is_healthy = false;
};

/// Has the coordinator of a job explain it. Blocks as `ask_status`.
/// @param all Every generation, one after the other.
/// @retval as `ask_status`
result<job_explanation> ask_why(const located_job& job, bool all,
                                std::chrono::milliseconds limit);

struct watch_options {
  /// The least between two reports; 100 ms to 60 s, others are fitted.
  std::chrono::milliseconds interval{1'000};
  /// Timeout for connecting, and for the first status.
  std::chrono::milliseconds limit{3'000};
  /// A descriptor: the watch ends when it becomes readable; -1: none.
  int stop = -1;
};

/// Gets the status now, whenever it has changed, and at least every second, or once
/// per interval if that is longer. Blocks until `on_status` returns false or `stop`
/// becomes readable.
/// @param on_status Called on this thread. While it runs nothing is sent but one
///                  status, however often that changes.
/// @retval errc::connection_failed  the process has ended, and no other one is looked
///         for; and as `ask_status`
result<void>
watch_status(const located_job& job, const watch_options& how,
             const std::function<bool(const v1::JobStatus&)>& on_status);

/// Asks etcd for the address of a job's coordinator. Blocks for at most
/// `limit`.
/// @pre the job uses etcd
/// @retval errc::connection_refused    etcd knows none, or it has ended
/// @retval errc::connection_failed     one has just been elected
/// @retval errc::not_actorrun          etcd holds something else there
/// @retval errc::etcd_unreachable, errc::etcd_denied, errc::system_failure
result<endpoint> find_coordinator(const job_options& job,
                                  std::chrono::milliseconds limit);

} // namespace actorrun
