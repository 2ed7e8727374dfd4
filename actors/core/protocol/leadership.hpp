// Elects the node that hosts a job's coordinator through a registry (etcd).
#pragma once

#include "actors/core/protocol/leadership_events.hpp"
#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

struct leadership_options {
  bool is_candidate = true;
  /// Campaigns without an agent that looks for a coordinator.
  bool always_campaigns = false;
  duration lease = std::chrono::seconds{15};
  /// From the end of the leadership to the earliest end of its lease.
  duration guard = std::chrono::milliseconds{300};
  /// What this node's command line asks for: who asks for another job than runs is
  /// no candidate.
  job_settings settings{};
  /// Leases of agents may differ by so much after a resize.
  std::chrono::milliseconds leeway{};
};

///                 no entry, or its            won            published
///  idle -> reading --------------> opening_lease -> campaigning -> opening
///   ^  ^      |    owner is gone        |               |             |
///   |  |      | entry                   +----- lost, registry away ---+
///   |  +--- connecting <--------------------------------+             v
///   +-------------- cannot renew, another's entry ---------------- leading
///
/// Every phase can lead to `retired`. A node campaigns only when its agent looks
/// for a coordinator; an agent that has found one sends the registry no
/// requests.
///
/// If its machine proves that the owner of an entry has ended, the entry is taken
/// over at once. Otherwise it ends with its lease. Either way there is only one
/// leader: a coordinator may decide until `set_leadership_end`, which lies before
/// the end of its lease.
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
    writing,
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

  void on(const candidate_started& event);
  void on(const coordinator_wanted& event);
  void on(const entry_read& event);
  void on(const lease_opened& event);
  void on(const campaign_won& event);
  void on(const campaign_lost& event);
  void on(const coordinator_opened& event);
  void on(const coordinator_not_opened& event);
  void on(const leadership_published& event);
  void on(const leadership_lost& event);
  void on(const lease_renewed& event);
  void on(const lease_ended& event);
  void on(const registry_failed& event);
  void on(const endpoint_reached& event);
  void on(const endpoint_gone& event);
  void on(const endpoint_failed& event);
  void on(const resign_requested& event);
  void on(const job_changed& event);
  void on(const outcome_reached& event);
  void on(const job_written& event);
  void on(const timer_fired& event);

  void look();
  bool has_ended(const job_mark& job);
  std::optional<failure> unfitness() const;
  charter next_job() const;
  bool is_led(const std::optional<leader_entry>& entry) const;
  void keep(const job_mark& job);
  void lead(time_point due);
  void write();
  void run_for_leadership(int64_t expected_revision);
  void try_entry(const std::optional<leader_entry>& entry);
  void check(const std::optional<leader_entry>& entry);
  void miss(failure why);
  void leave(const std::string& reason, bool ends_lease);
  void drop_lease();
  void set_trouble(std::optional<failure> trouble);
  void arm(time_point due);

  leadership_options options_;
  phase phase_ = phase::idle;
  bool is_wanted_ = false; ///< The agent waits for an answer.
  leader_entry tried_;     ///< The entry that the agent tries.
  /// Why the registry could not confirm `tried_`.
  std::optional<failure> doubt_;
  std::optional<leader_entry> known_; ///< Where the agent was last accepted.
  int64_t expected_revision_ = 0;
  int64_t expected_job_revision_ = 0;
  int64_t lease_ = 0;
  int64_t revision_ = 0; ///< Of our entry.
  duration length_{0};   ///< Of our lease.
  time_point renewed_{}; ///< When its last renewal was requested.
  time_point leadership_end_{};
  bool has_seen_coordinator_ = false; ///< Of this job.
  bool was_member_ = false;           ///< Our agent, of this job.
  bool is_registry_away_ = false;     ///< As last logged.
  charter job_;                       ///< As the mark has it, or is to have it.
  bool is_over_ = false;              ///< The job; so is the mark to say.
  bool has_news_ = false;             ///< That the mark does not say yet.
  generation_id ceiling_;             ///< In the mark: above all given.
  bool is_job_over_ = false;          ///< As the mark said before we led.
  time_point next_renewal_{};
  timer_id timer_;
  // Of the step that is taken.
  time_point now_{};
  effects out_;
};

std::string to_string(leadership::phase x);

} // namespace actorrun::core
