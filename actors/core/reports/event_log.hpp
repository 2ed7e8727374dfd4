// Writes the events of an agent and its workers as records of torchrun's event
// log.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"
#include "actors/core/workers/worker_group.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// Whose events they are.
struct event_subject {
  job_id job;
  std::string role = "default";
  std::string host{};
  std::string backend = "c10d"; ///< By torchrun's names.
  std::string entry_point{};    ///< The program that workers run.
};

/// Turns the events of an agent's worker group into lines of JSON:
///
///     {"name": "torchelastic.worker.status.START", "source": "WORKER",
///      "timestamp": 1785500000123, "metadata": {"run_id": "job1", …}}
///
/// Names and fields are torchrun's, in its order. Unlike there, the time stamp
/// is filled in (Unix time in ms), a worker's end is recorded for every generation
/// and not only for the last, and a failed job is recorded by its agent.
///
/// - RENDEZVOUS, ASSIGN_WORKER_RANKS (AGENT): a generation begins; `duration_ms`
///   counts from the begin, or from when the last worker had ended.
/// - START (WORKER): it runs.
/// - SUCCEEDED, FAILED, TERMINATED (WORKER): it has ended, the last if by us.
/// - `timer expired`, `kill worker process` (AGENT).
/// - SUCCEEDED, FAILED (AGENT): the end.
/// @see torch/distributed/elastic/events/api.py, agent/server/api.py
class event_log {
public:
  using lines = std::vector<std::string>; ///< Without line ends.

  event_log(event_subject subject, time_point begun);

  /// @param group Before it handles `event`.
  /// @param wall_ms Unix time in ms.
  lines note(const worker_group_event& event, const worker_group& group,
             time_point now, int64_t wall_ms);

  /// The agent's part is over.
  lines note(const ending& how, time_point now, int64_t wall_ms);

private:
  struct moment {
    time_point now;
    int64_t wall_ms = 0;
  };

  struct record;

  void on(const start_ordered& event, const worker_group& group, moment at,
          lines& out);
  void on(const worker_started& event, const worker_group& group, moment at,
          lines& out);
  void on(const worker_not_started& event, const worker_group& group, moment at,
          lines& out);
  void on(const worker_exited& event, const worker_group& group, moment at,
          lines& out);
  void on(const worker_overran& event, const worker_group& group, moment at,
          lines& out);

  template <class Other>
  void on(const Other&, const worker_group&, moment, lines&) {
    // Orders are not recorded: the ends of workers show their effect.
  }

  record about_agent(const char* state) const;
  record about_worker(const char* state, uint32_t local_rank,
                      int64_t pid) const;
  std::string details_of(const record& x) const;
  std::string text_of(const record& x, moment at) const;

  event_subject subject_;
  time_point begun_;
  time_point waiting_since_;
  std::optional<generation_plan> plan_; ///< Of the last generation.
};

} // namespace actorrun::core
