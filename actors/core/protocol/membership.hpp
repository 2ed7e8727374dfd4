// Finds the coordinator for an agent, keeps its lease, and decides what its
// workers do.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/protocol/agent_lease.hpp"
#include "actors/core/protocol/coordinator_link.hpp"
#include "actors/core/protocol/coordinator_loss.hpp"
#include "actors/core/protocol/departure.hpp"
#include "actors/core/protocol/generation_share.hpp"
#include "actors/core/protocol/membership_events.hpp"
#include "actors/core/protocol/membership_step.hpp"
#include "actors/core/protocol/node_workers.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Runs the agent's side of the protocol (docs/protocol.md), which has four regions:
/// the link, the lease, the share of a generation, and the departure. What happens to
/// one of them is told to the others here.
///
/// A keep-alive is sent when supervisor and process host have answered, and not
/// otherwise: the lease proves that the workers can be ended.
class membership {
public:
  using link = coordinator_link::state;
  using search = coordinator_link::search;

  membership(offer offering, timeouts limits);
  /// Its regions know each other.
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

  /// Workers that run have said how far they are.
  bool has_safe_points() const { return workers_.has_safe_points(); }

  /// Whether the workers of this node run, and are not being started or stopped.
  bool has_running_workers() const { return share() == share_state::running; }

  /// Applies one event and returns its effects. Deterministic.
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<membership_effect> step(const membership_event& event,
                                      time_point now);

  link current_link() const { return link_.current(); }

  std::optional<search> current_search() const {
    return link_.current_search();
  }

  /// None: it has a coordinator, has not had one yet, or leaves.
  std::optional<coordinator_loss> loss() const;

  share_state share() const { return share_.state(); }

  /// Whether a coordinator has accepted it, at least once.
  bool was_accepted() const { return link_.was_accepted(); }

  /// The plan of the generation it has, or last had.
  const std::optional<generation_plan>& plan() const { return share_.plan(); }

  const offer& offering() const { return offer_; }

  /// The address is known only when the first link is up.
  void announce_address(std::string address) {
    offer_.address = std::move(address);
  }

  /// From now on it can take no part, or can. @see offer
  void announce_fitness(std::string unfit) { offer_.unfit = std::move(unfit); }

  /// So is the port, which is reserved at that address.
  void announce_port(uint16_t port) { offer_.master_port = port; }

private:
  using alarm = membership_step::alarm;

  // the link
  void on(const coordinator_found& event);
  void on(const coordinator_not_found& event);
  void on(const coordinator_disconnected& event);
  void on(const second_way_found& event);
  void on(const join_accepted& event);
  void on(const join_rejected& event);
  void seek();
  void try_later();
  void give_up();

  // the lease
  void on(const control_checked& event);
  void on(const lease_granted& event);
  void on(const fence_fired& event);
  void check_control();
  void on_keep_alive_due();
  void on_fence();
  void extend_fence(time_point due);

  // the share
  void on(const charter_changed& event);
  void on(const generation_formed& event);
  void on(const start_ahead_ordered& event);
  void on(const group_started& event);
  void on(const group_failed& event);
  void on(const group_succeeded& event);
  void on(const group_stopped& event);
  void add_failures(collateral failures, time_point aged_at);

  void on(const timer_fired& event);

  membership_step step_;
  offer offer_;
  /// What the job's coordinators have said of it, for the next of them.
  std::optional<charter> job_;
  coordinator_link link_;
  agent_lease lease_;
  generation_share share_;
  node_workers workers_;
  departure departure_;
};

} // namespace actorrun::core
