// Who hosts a job's coordinator where a registry (etcd) has the word: how a
// candidate gets the office, keeps and leaves it, and where others find it.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// Each coordinator of a job has a term. It may number its epochs as it likes up
/// to this many; so many belong to the terms before, whoever knows of them.
inline constexpr uint64_t epochs_per_term = 1'000;

/// What the registry says of a job's coordinator.
struct leader_entry {
  int64_t revision = 0; ///< Of its last change, > 0; no two are equal.
  std::string endpoint; ///< Where it listens. Empty: it is about to.

  friend bool operator==(const leader_entry&, const leader_entry&) = default;
};

// -- events: what has happened ------------------------------------------------

struct candidate_started {};

/// The agent looks for its coordinator. Not again before it got its answer.
struct coordinator_wanted {};

/// Answer to `read_entry`, as of a moment after it was asked.
struct entry_read {
  std::optional<leader_entry> entry;
};

/// Answers to `open_lease`, …
struct lease_opened {
  int64_t lease = 0;
  duration length{0};
  time_point
    sent; ///< When it was asked for: it does not end before this + length.
};

/// … `campaign`, …
struct campaign_won {
  int64_t revision = 0;      ///< Of the entry, which is ours.
  uint32_t terms_before = 0; ///< So often somebody has won it for this job.
};

struct campaign_lost {
  std::optional<leader_entry> entry;
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

/// Instead of any answer of the registry's. Whether it has done what it was
/// asked for is unknown.
struct registry_failed {
  failure why;
};

/// Answers to `try_endpoint`.
struct endpoint_reached {};

/// Its host says that nobody listens there.
struct endpoint_refused {
  failure why;
};

struct endpoint_failed {
  failure why;
};

/// We go, or the job is over.
struct resign_requested {
  bool job_over = false;
};

using leadership_event
  = std::variant<candidate_started, coordinator_wanted, entry_read,
                 lease_opened, campaign_won, campaign_lost, coordinator_opened,
                 coordinator_not_opened, leadership_published, leadership_lost,
                 lease_renewed, lease_ended, registry_failed, endpoint_reached,
                 endpoint_refused, endpoint_failed, resign_requested,
                 timer_fired>;

// -- effects: what the owner must do, in order --------------------------------
//
// At most one request to the registry is under way. Where it has a deadline,
// `registry_failed` has to come by then.

struct read_entry {
  std::optional<time_point> deadline{};
};

struct open_lease {
  duration length{0};
};

/// Make the entry ours if it is at this revision still; 0: if there is none.
struct campaign {
  int64_t lease = 0;
  int64_t expected_revision = 0;
};

/// Start a coordinator that others can reach.
struct open_coordinator {
  bool successor = false;
  uint32_t terms_before = 0; ///< As far as the registry knows.
};

/// Write into our entry where it listens, if it is ours still.
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

/// Best effort; there is no answer. With `job_over` all traces of the job go.
struct end_lease {
  int64_t lease = 0;
  bool job_over = false;
};

/// Until then the coordinator may decide; never later.
struct set_leadership_end {
  time_point due;
};

/// End the coordinator and everything that leads to it.
struct close_coordinator {
  std::string reason;
};

// Answers to `coordinator_wanted`.

/// The agent shall connect there; tell us what came of it.
struct try_endpoint {
  std::string endpoint;
};

/// The coordinator is in our own process.
struct tell_here {};

/// `connection_refused` says: at a moment after the question no coordinator was
/// in office, so whoever is now must listen for a lease before it acts.
struct tell_missing {
  failure why;
};

/// Write down, once, that the registry is away, or back.
struct note_registry {
  std::optional<failure> trouble; ///< None: it is back.
};

using leadership_effect
  = std::variant<read_entry, open_lease, campaign, open_coordinator, publish,
                 renew_lease, end_lease, set_leadership_end, close_coordinator,
                 try_endpoint, tell_here, tell_missing, note_registry,
                 arm_timer>;

/// One line per effect, for transcripts: `campaign 7 over 0`.
std::string to_string(const leadership_effect& x);

// -- state --------------------------------------------------------------------

struct leadership_options {
  bool is_candidate = true;
  /// Wants the office for itself: there is no agent that would ask.
  bool always_campaigns = false;
  duration lease = std::chrono::seconds{15};
  /// We leave the office so much before our lease can end.
  duration guard = std::chrono::milliseconds{300};
};

///                 no entry, or its            won            published
///  idle -> reading --------------> opening lease -> campaigning -> opening
///   ^  ^      |    owner is gone        |               |             |
///   |  |      | entry                   +----- lost, registry away ---+
///   |  +--- connecting <--------------------------------+             v
///   +-------------- cannot renew, another's entry ---------------- leading
///
/// `retired` follows from everywhere. The office is taken only when somebody
/// looks for a coordinator; who has found one asks the registry nothing.
///
/// An owner is known to be gone when its host refuses us where we had been let
/// in before: then its entry is taken over at once. Else it ends with its
/// lease. Either way there is only one in office: a coordinator may decide
/// until `set_leadership_end`, which lies before the end of its lease.
class leadership {
public:
  enum class phase {
    idle,
    reading,
    connecting,
    opening_lease,
    campaigning,
    opening,
    publishing,
    leading,
    renewing,
    checking,
    retired,
  };

  /// @pre `guard < lease`
  explicit leadership(leadership_options options);

  /// Applies one event and returns its effects. Deterministic. O(1).
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<leadership_effect> step(const leadership_event& event,
                                      time_point now);

  phase current_phase() const { return phase_; }

  /// The entry is ours, or may be.
  bool is_leader() const;

private:
  using effects = std::vector<leadership_effect>;

  void on(const candidate_started& event, time_point now, effects& out);
  void on(const coordinator_wanted& event, time_point now, effects& out);
  void on(const entry_read& event, time_point now, effects& out);
  void on(const lease_opened& event, time_point now, effects& out);
  void on(const campaign_won& event, time_point now, effects& out);
  void on(const campaign_lost& event, time_point now, effects& out);
  void on(const coordinator_opened& event, time_point now, effects& out);
  void on(const coordinator_not_opened& event, time_point now, effects& out);
  void on(const leadership_published& event, time_point now, effects& out);
  void on(const leadership_lost& event, time_point now, effects& out);
  void on(const lease_renewed& event, time_point now, effects& out);
  void on(const lease_ended& event, time_point now, effects& out);
  void on(const registry_failed& event, time_point now, effects& out);
  void on(const endpoint_reached& event, time_point now, effects& out);
  void on(const endpoint_refused& event, time_point now, effects& out);
  void on(const endpoint_failed& event, time_point now, effects& out);
  void on(const resign_requested& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);

  void look(effects& out);
  void stand(int64_t expected_revision, effects& out);
  void show(const std::optional<leader_entry>& entry, time_point now,
            effects& out);
  void check(const std::optional<leader_entry>& entry, time_point now,
             effects& out);
  void miss(failure why, time_point now, effects& out);
  void leave(const std::string& reason, bool ends_lease, time_point now,
             effects& out);
  void drop_lease(effects& out);
  void note(std::optional<failure> trouble, effects& out);
  void arm(time_point due, effects& out);

  leadership_options options_;
  phase phase_ = phase::idle;
  bool wanted_ = false; ///< The agent waits for an answer.
  leader_entry tried_;  ///< What the agent tries.
  /// Why the registry could not say whether `tried_` is right.
  std::optional<failure> doubt_;
  std::optional<leader_entry> known_; ///< Where the agent last got in.
  int64_t expected_revision_ = 0;
  int64_t lease_ = 0;
  int64_t revision_ = 0; ///< Of our entry.
  duration length_{0};   ///< Of our lease.
  time_point renewed_{}; ///< When its last renewal was asked for.
  time_point leadership_end_{};
  bool has_met_ = false; ///< We have seen a coordinator of the job.
  bool is_away_ = false; ///< The registry, as noted.
  timer_id timer_;
};

std::string to_string(leadership::phase x);

} // namespace actorrun::core
