// PUBLIC: finds jobs, asks how they are, and steers them, from any process.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/result.hpp"
#include "runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun {

// -- which job ----------------------------------------------------------------

/// A process of this user on this host that takes part in a job.
struct local_job {
  std::string label; ///< The job id, with what makes it fit for a file name.
  int64_t pid = 0;
  bool is_coordinator = false;
  std::string path; ///< Of its socket.
};

/// The job of a process of this host, or one on any host by its rendezvous, secret
/// and certificates; its numbers do not matter.
using located_job = std::variant<local_job, job_options>;

/// Finds the local jobs by their sockets in all run-time folders of this user,
/// those with a coordinator first.
/// @retval errc::system_failure  the folder that ACTORRUN_RUN_DIR names cannot be
///         used
result<std::vector<local_job>> find_local_jobs();

/// Finds a job of this user on this host, also one of this program: its coordinator if
/// that is here, else one of its agents. Blocks for at most `limit` for each process of
/// a job.
/// @param job Its id, or the number of a process of it; empty: the only one.
/// @retval errc::connection_refused  there is none
/// @retval errc::bad_argument        there are several, which the text names
/// @retval errc::system_failure      as `find_local_jobs`
/// @retval as `status_of`, if a process of it does not answer
result<local_job> find_local_job(const std::string& job,
                                 std::chrono::milliseconds limit);

// -- how it is ----------------------------------------------------------------
// What a job answers comes from other processes; all texts are printable lines, but
// those in a `core::death_details`.

/// How long a job may take to answer, however busy it is.
inline constexpr auto answer_limit = std::chrono::milliseconds{6'000};

/// One node of a job.
struct job_node {
  std::string agent; ///< The id of its agent.
  std::string host;
  std::string address;     ///< Where other nodes reach it.
  uint32_t slot_count = 0; ///< Workers that it can run.
  std::string state;       ///< In one word: `running`, `standby`, `away`, …
  std::string reason;      ///< Why; may be empty.
  /// Of the newest generation; none: it is in none.
  std::optional<uint32_t> node_rank{};
  std::vector<int64_t> pids{}; ///< Of its workers, by local rank.
};

/// What the coordinator of a job knows of it, or an agent that has lost it.
struct job_status {
  std::string job;   ///< Its id.
  std::string phase; ///< `gathering`, `running`, …
  /// Nothing is wrong: a generation runs, and no node is missing or excluded.
  bool is_healthy = false;
  uint64_t generation = 0; ///< 1, 2, 3…; 0: there was none yet.
  uint32_t world_size = 0; ///< Workers of it.
  uint32_t node_count_min = 0;
  uint32_t node_count_max = 0;
  uint32_t restart_count = 0; ///< Spent.
  uint32_t restart_count_max = 0;
  std::string waiting_for; ///< Why no generation runs; empty while one does.
  std::vector<job_node> nodes{}; ///< That are here, at most 100,000.
  std::optional<core::worker_failure> last_failure{};
  std::optional<core::outcome> outcome{}; ///< None: the job goes on.
};

/// Asks a job. Blocks for at most `limit`, and twice that for one by its rendezvous.
/// @pre job options have a rendezvous
/// @retval errc::connection_refused    there is no such process any more
/// @retval errc::connection_failed     it ends just now
/// @retval errc::connection_timed_out  it does not answer
/// @retval errc::bad_argument          the secret or a certificate cannot be read
/// @retval errc::secret_mismatch, errc::job_mismatch, errc::user_mismatch,
///         errc::certificate_mismatch, errc::protocol_mismatch, errc::not_actorrun,
///         errc::unresolvable  what answers at the rendezvous is not this job's, or
///         is not for us
/// @retval errc::etcd_unreachable, errc::etcd_denied  it uses etcd
result<job_status> status_of(const located_job& job,
                             std::chrono::milliseconds limit = answer_limit);

/// Why a generation ended, or why the job waits or has ended.
struct job_reason {
  std::string sentence;                ///< Names the first cause.
  std::vector<std::string> evidence{}; ///< What that rests on.
};

/// Has the coordinator of a job explain it: what ended the last generation, and how
/// the job is now. Blocks as `status_of`.
/// @retval as `status_of`
result<std::vector<job_reason>>
explain(const located_job& job, std::chrono::milliseconds limit = answer_limit);

// -- steering -----------------------------------------------------------------
// Only the coordinator does what is asked. It lets the user of its process steer, and
// from other hosts those that have proved a secret or a certificate.
//
// All block for at most `limit`, and twice that for a job by its rendezvous.
//
// @returns what was done, for people: one printable line
// @retval errc::bad_argument  the job refuses; the text says why, and where to ask
// @retval as `status_of`

/// Lets a node leave gently: its workers get the notice signal, and it leaves after
/// `time`, or sooner when they have ended. This costs no restart.
/// @param node The id of its agent, its host if that has one agent only, or its node
///             rank.
/// @param time Of its workers, at most a week; 0 or less: none.
result<std::string> drain(const located_job& job, const std::string& node,
                          std::chrono::milliseconds time,
                          std::chrono::milliseconds limit = answer_limit);

/// The same as soon as another node can take its place.
result<std::string>
drain_when_replaced(const located_job& job, const std::string& node,
                    std::chrono::milliseconds time,
                    std::chrono::milliseconds limit = answer_limit);

/// Lets a node stay that waits to be replaced.
result<std::string>
cancel_drain(const located_job& job, const std::string& node,
             std::chrono::milliseconds limit = answer_limit);

/// Changes how many nodes the job may have: 1 ≤ `min` ≤ `max` ≤ 100,000.
result<std::string> resize(const located_job& job, uint32_t min, uint32_t max,
                           std::chrono::milliseconds limit = answer_limit);

/// Starts all workers again, on the same nodes. This costs no restart; their work
/// since the last checkpoint is lost.
/// @param reason For people; may be empty.
result<std::string> restart(const located_job& job, const std::string& reason,
                            std::chrono::milliseconds limit = answer_limit);

/// Ends the job.
/// @param reason For people; may be empty.
result<std::string> stop(const located_job& job, const std::string& reason,
                         std::chrono::milliseconds limit = answer_limit);

/// From now on no agent of the host takes part.
/// @param reason For people; may be empty.
result<std::string> exclude(const located_job& job, const std::string& host,
                            const std::string& reason,
                            std::chrono::milliseconds limit = answer_limit);

/// From now on agents of the host may take part again.
result<std::string> include(const located_job& job, const std::string& host,
                            std::chrono::milliseconds limit = answer_limit);

/// Changes which lines our own programs log.
/// @param level DEBUG, INFO, WARNING, ERROR or CRITICAL, in any case.
/// @param node  As of `drain`; empty: all nodes.
result<std::string>
set_log_level(const located_job& job, const std::string& level,
              const std::string& node = {},
              std::chrono::milliseconds limit = answer_limit);

} // namespace actorrun
