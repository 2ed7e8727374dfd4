// Knows what is the job's, whoever coordinates it: how many nodes it has, which
// hosts are excluded, and which nodes wait to leave.
#pragma once

#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/end_reason.hpp"
#include "actors/core/protocol/exclusions.hpp"
#include "actors/core/protocol/restart_policy.hpp"
#include "actors/core/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

/// Orders are given here, or were given to an earlier coordinator and are told by
/// agents and by what it has left behind (`charter_witnesses`). What is ordered
/// here counts more than what is told of earlier orders.
///
/// It decides which orders count. Whoever owns it has agents follow them.
class job_orders {
public:
  /// @param settings Of this coordinator's command line.
  /// @param lease That this coordinator grants, guard included.
  job_orders(const job_settings& settings, std::chrono::milliseconds lease);

  /// As they are now: an operator may change the numbers of nodes.
  const job_settings& settings() const { return settings_; }

  /// Why the job has other numbers of nodes than at the beginning; empty: it has
  /// not.
  const end_reason& resize_reason() const { return resize_reason_; }

  const exclusions& excluded() const { return exclusions_; }

  /// Of agents that are here, or may yet come back from an earlier coordinator. In
  /// the order of the requests.
  const std::vector<pending_drain>& drains() const { return drains_; }

  /// @returns null if it does not wait to leave
  const pending_drain* find_drain(const agent_id& agent) const;

  /// As agents were told it last, or would be if there were any.
  const charter& told() const { return charter_; }

  // -- what was before ----------------------------------------------------------

  /// @param left What an earlier coordinator has left behind; revision 0: nothing.
  /// @param names_hosts That names all excluded hosts.
  /// @param is_successor Otherwise there was no earlier coordinator, and nothing of
  ///        it counts.
  void begin(const charter& left, bool names_hosts, bool is_successor,
             time_point now);

  /// The same, if no agent can know more of the job: what agents were told counts no more.
  void trust(const charter& left, time_point now);

  /// What an agent was told of the job. Until `settle` only.
  /// @returns what counts of the job by now, if that is news
  std::optional<charter> hear(const agent_id& agent, const charter& told,
                              time_point now);

  /// An agent may have so long a lease.
  void know_lease(std::chrono::milliseconds lease) {
    charter_.lease = std::max(charter_.lease, lease);
  }

  /// Nothing more has to be found out, and all whom earlier coordinators have given
  /// a lease are gone, or have this one's.
  void settle();

  // -- what is ordered here -----------------------------------------------------

  /// @pre the nodes are not ranked; `1 <= min <= max <= agents_per_generation_max`
  void resize(uint32_t min, uint32_t max, end_reason reason);

  /// A generation with so many nodes runs.
  void raise_maximum(uint32_t max, end_reason reason);

  /// @pre it is not excluded, and the list is not full
  void exclude(excluded_host x);

  /// @returns false if it was not excluded
  bool include(const std::string& host);

  /// By a list that outlives jobs, as far as there is room.
  void exclude_listed(const std::vector<excluded_host>& hosts, time_point now);

  /// It is excluded or not, as is known now, whatever agents tell.
  void confirm_host(const std::string& host) { settled_hosts_.insert(host); }

  void add_drain(pending_drain x);
  void withdraw_drain(const agent_id& agent);

  /// It waits to leave, whatever agents tell.
  void confirm_drain(const agent_id& agent) { settled_drains_.insert(agent); }

  /// Of those that begin, or that no agent waits for.
  /// @param is_over Takes a `pending_drain`.
  template <class F>
  void erase_drains(F is_over) {
    std::erase_if(drains_, is_over);
  }

  // -- what agents must know ----------------------------------------------------

  /// Gives the charter a new revision, if something is new.
  /// @param is_learning Who may know more of the job has yet to come. Then only
  ///        what is ordered here is told: agents would forget what they are to bear
  ///        witness of.
  /// @param is_spending This coordinator has spent restarts itself.
  /// @returns whether agents must be told at once; of a restart that was spent they
  ///          learn with the next generation
  bool revise(const restart_policy& budget, std::vector<failing_host> failing,
              bool is_learning, bool is_spending);

private:
  bool take_over(const charter& known, time_point now);
  void take_over_exclusions(const std::vector<excluded_host>& known,
                            time_point now);
  void take_over_drains(const std::vector<pending_drain>& known);

  job_settings settings_;
  std::chrono::milliseconds lease_;
  end_reason resize_reason_;
  exclusions exclusions_;
  std::vector<pending_drain> drains_;
  charter charter_;
  charter_witnesses witnesses_;
  uint64_t revision_seen_ = 0; ///< The highest that anyone has told.
  bool is_proved_ = false;     ///< What was before.
  bool is_resized_here_ = false;
  std::set<std::string>
    settled_hosts_;                   ///< Excluded here or not; till `settle`.
  std::set<agent_id> settled_drains_; ///< Asked for here or not; likewise.
};

} // namespace actorrun::core
