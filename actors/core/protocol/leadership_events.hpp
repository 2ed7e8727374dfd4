// Lists what a candidate for the leadership is notified of, and what it orders.
#pragma once

#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/leadership_orders.hpp"
#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace actorrun::core {

/// What the registry says about a job's coordinator.
struct leader_entry {
  int64_t revision = 0; ///< Of its last change, > 0 and unique.
  std::string endpoint; ///< Where it listens; empty: not yet.

  friend bool operator==(const leader_entry&, const leader_entry&) = default;
};

/// What the registry knows of the job itself, whoever leads it.
struct job_mark {
  int64_t revision = 0; ///< Of its last change, > 0 and unique; 0: no mark.
  bool is_over = false; ///< The job has ended, and no other with its id begun.
  /// What its coordinators have left behind; revision 0: nothing but the number.
  charter job{};

  friend bool operator==(const job_mark&, const job_mark&) = default;
};

// -- events: what has happened ------------------------------------------------

struct candidate_started {};

/// The agent looks for its coordinator. It does not ask again before it has got
/// the answer.
struct coordinator_wanted {
  bool was_member = false; ///< A coordinator of this job has accepted it.
};

/// Answer to `read_entry`: both at one moment after the request.
struct entry_read {
  std::optional<leader_entry> entry;
  job_mark job{};
};

/// Answers to `open_lease`, …
struct lease_opened {
  int64_t lease = 0;
  duration length{0};
  /// When it was requested. The lease does not end before `sent + length`.
  time_point sent;
};

/// … `campaign`, …
struct campaign_won {
  int64_t revision = 0;      ///< Of the entry, which is ours.
  uint32_t terms_before = 0; ///< Earlier coordinators of this job.
};

/// The coordinator has changed what its successor must know.
struct job_changed {
  charter job;
};

/// The job has ended, and no agent knows it yet.
struct outcome_reached {};

/// Answer to `write_job`.
struct job_written {};

struct campaign_lost {
  std::optional<leader_entry> entry;
  job_mark job{};
};

/// … `open_coordinator`, …
struct coordinator_opened {
  std::string endpoint;
};

struct coordinator_not_opened {
  failure why;
};

/// … `publish`, …
struct leadership_published {
  int64_t revision = 0;
};

struct leadership_lost {};

/// … and `renew_lease`.
struct lease_renewed {
  duration length{0};
  time_point sent;
};

struct lease_ended {};

/// Comes instead of any answer of the registry. Whether the registry has
/// carried out the request is unknown.
struct registry_failed {
  failure why;
};

/// Answers to `try_endpoint`.
struct endpoint_reached {};

/// The coordinator there has ended: its machine has proved it.
struct endpoint_gone {
  failure why;
};

/// Anything else, which proves nothing.
struct endpoint_failed {
  failure why;
};

/// This node leaves the job, or the job is over.
struct resign_requested {
  bool job_over = false;
};

using leadership_event
  = std::variant<job_changed, outcome_reached, job_written, candidate_started,
                 coordinator_wanted, entry_read, lease_opened, campaign_won,
                 campaign_lost, coordinator_opened, coordinator_not_opened,
                 leadership_published, leadership_lost, lease_renewed,
                 lease_ended, registry_failed, endpoint_reached, endpoint_gone,
                 endpoint_failed, resign_requested, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------
//
// At most one request to the registry is under way. If a request has a
// deadline, `registry_failed` must come by then.

struct read_entry {
  std::optional<time_point> deadline{};
};

struct open_lease {
  duration length{0};
};

/// Make the entry ours, and mark the job as not over, if both still have these
/// revisions; 0: if there is none.
struct campaign {
  int64_t lease = 0;
  int64_t expected_revision = 0;
  int64_t expected_job_revision = 0;
  /// What the mark says from then on. Its number is above all that this coordinator
  /// may give: the next one begins there.
  charter job{};
};

/// Write what the next coordinator must know, if the entry is ours.
struct write_job {
  int64_t lease = 0;
  bool is_over = false; ///< For at least a day.
  charter job{};
  time_point deadline{};
};

/// What was to be known of the outcome is, or cannot be.
struct report_outcome_written {};

/// Write the coordinator's endpoint into the entry, if it is still ours.
struct publish {
  int64_t lease = 0;
  int64_t revision = 0;
  std::string endpoint;
  time_point deadline;
};

struct renew_lease {
  int64_t lease = 0;
  time_point deadline;
};

/// Best effort, without an answer. With `job_over`, and if the entry is ours, the
/// job is marked as over for at least a day.
struct end_lease {
  int64_t lease = 0;
  bool job_over = false;
  charter job{}; ///< Its number is the mark's.
};

// Answers to `coordinator_wanted`.

/// Have the agent connect there, and report the result.
struct try_endpoint {
  std::string endpoint;
};

/// The coordinator is in our own process.
struct report_here {};

/// `job_over` means: the job has ended while this agent, which was a member
/// of it, was away. `coordinator_gone` means: the coordinator that served this node last has
/// ended, and at a moment after the request it still was the job's; so the next
/// one begins later, and listens for a lease before it acts.
struct report_missing {
  failure why;
};

/// Log, once, that the registry is away, or back.
struct log_registry {
  std::optional<failure> trouble; ///< None: it is back.
};

using leadership_effect
  = std::variant<read_entry, open_lease, campaign, open_coordinator, publish,
                 write_job, report_outcome_written, renew_lease, end_lease,
                 set_leadership_end, close_coordinator, try_endpoint,
                 report_here, report_missing, log_registry, arm_timer>;

/// One line per effect, for transcripts: `campaign 7 over 0`.
std::string to_string(const leadership_effect& x);

} // namespace actorrun::core
