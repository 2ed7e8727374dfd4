// Decides whether a node may begin a job that its host has taken part in before.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/succession/succession_events.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// Memos of more agents than these are not followed: then nothing begins.
inline constexpr size_t remembered_voters_max = 64;

/// Between two questions to the agents of a memo, and to this host.
inline constexpr auto memo_question_pause = std::chrono::milliseconds{200};

/// An agent that has lost its coordinator says so about as often as it looks for
/// another; what it has said counts for so long.
inline constexpr auto seeker_memory = std::chrono::milliseconds{3'000};

/// Names the agents of one job that a host has, as a process there sees them.
struct host_survey {
  /// The sender, if it takes part in the job, has lost its coordinator and would join
  /// another one; empty: it was never accepted.
  agent_id seeker{};
  /// Where others reach the host: numbers and names, without ports.
  std::vector<std::string> addresses{};
  /// Ends of the ids of all agents that run there, or whose workers do.
  std::vector<std::string> present{};
  /// As memos there name them, or the sender was told.
  endpoint_list voters{};
  /// The sender, if it may begin the job itself, and has not (`founding`).
  agent_id newborn{};

  friend bool operator==(const host_survey&, const host_survey&) = default;
};

// -- events -------------------------------------------------------------------

struct beginning_started {};

/// Of this host, or of another one.
struct host_surveyed {
  host_survey what;
};

/// These may take part in the job, too.
struct voters_named {
  endpoint_list voters;
};

/// A coordinator of the job has been found.
struct job_found {};

using beginning_event
  = std::variant<beginning_started, host_surveyed, process_examined,
                 voters_named, job_found, timer_fired>;

// -- effects ------------------------------------------------------------------

/// Answer with `host_surveyed`.
struct survey_host {};

/// Comes once. No other process of the job runs.
struct begin_job {};

using beginning_effect
  = std::variant<survey_host, examine, begin_job, arm_timer>;

/// A host has a memo of each job that it takes part in: who votes there, and who may
/// lead. An agent that was lost with its machine's proofs leaves it behind. Whoever is
/// started there does not know whether the others live on, and must not begin a second
/// job beside theirs: all agents of the memo must have ended, and all that these
/// knew of. Those that live may also look for a coordinator here: they have none.
///
/// Likewise those that could begin the job, and have not, if there are several seeds:
/// which of them begins it is `founding`'s to decide.
///
/// That one has ended is known from its tombstone, or from a process of the job
/// on its host that does not find it there. Nothing else is a proof.
class beginning {
public:
  /// @param known What the memos name.
  explicit beginning(const endpoint_list& known) { add(known); }

  /// Applies one event and returns its effects. Deterministic.
  std::vector<beginning_effect> step(const beginning_event& event,
                                     time_point now);

  bool is_waiting() const { return is_waiting_; }

  /// Those that may live.
  const endpoint_list& awaited() const { return awaited_; }

  /// Those that have ended, or take part in the job and have lost its coordinator.
  /// @param now As of the last step.
  std::set<agent_id> settled(time_point now) const;

  /// For people, while it waits.
  /// @param files The memos.
  std::string waits_for(const std::vector<std::string>& files) const;

private:
  enum class alarm { ask };

  void on(const beginning_started& event);
  void on(const host_surveyed& event);
  void on(const process_examined& event);
  void on(const voters_named& event);
  void on(const job_found& event);
  void on(const timer_fired& event);

  void add(const endpoint_list& named);
  void ask();
  void begin_if_alone();

  endpoint_list awaited_;
  std::set<agent_id> ended_;
  std::map<agent_id, time_point> seekers_;  ///< When they have said so.
  std::map<agent_id, time_point> newborns_; ///< Likewise.
  bool is_full_ = false; ///< Some were named that are not awaited.
  bool is_waiting_ = true;
  alarm_set<alarm, 1> alarms_;

  // Of the step that is taken.
  time_point now_{};
  std::vector<beginning_effect> out_;
};

/// `survey_host`, `examine n2`, …
std::string to_string(const beginning_effect& x);

/// The host of `10.0.0.2:41000` or `[fd00::3]:41000`.
std::string host_of_endpoint(const std::string& endpoint);

} // namespace actorrun::core
