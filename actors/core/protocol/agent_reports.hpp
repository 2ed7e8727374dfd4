// Follows what a job's agents report, and declares those lost that fall silent.
#pragma once

#include "actors/core/protocol/generation_end.hpp"
#include "actors/core/protocol/lease_table.hpp"
#include "actors/core/protocol/regrouping.hpp"
#include "actors/core/protocol/rendezvous_step.hpp"

namespace actorrun::core {

/// An agent that has been ordered to stop its workers says when it has. If it does
/// not within the time that it has said it may take, its lease is not renewed any
/// more.
///
/// Live workers that are parked on a node without a place end after a minute: they
/// hold its devices.
class agent_reports {
public:
  /// All must live as long as this.
  agent_reports(rendezvous_step& step, const timeouts& limits,
                const job_course& job, agent_table& agents,
                generation_costs& costs, quarantine& nodes,
                generation_end& generation, regrouping& changes)
    : step_(step), limits_(limits), job_(job), agents_(agents), costs_(costs),
      quarantine_(nodes), generation_(generation), regrouping_(changes),
      leases_(limits.lease()) {}

  const lease_table& leases() const { return leases_; }

  void grant(const agent_id& agent) { leases_.renew(agent, step_.now()); }

  /// When the next lease runs out it is seen who is silent, and who is late.
  void arm();
  void on_lease_due(time_point due);

  // -- of themselves ------------------------------------------------------------

  void on(const leases_renewed& event);
  void on(const agent_disconnected& event);
  void on(const agent_lost& event);
  void on(const agent_leaving& event);
  void on(const agent_left& event);

  // -- of their workers ---------------------------------------------------------

  /// Reports of a generation that is over change nothing but what the agent holds.
  void on(const workers_started& event);
  void on(const worker_failed& event);
  void on(const workers_succeeded& event);
  void on(const workers_stopped& event);

private:
  using alarm = rendezvous_alarm;

  void lose(const agent_id& agent, const end_reason& reason);
  void give_up_overdue();
  void end_idle_workers();

  rendezvous_step& step_;
  const timeouts& limits_;
  const job_course& job_;
  agent_table& agents_;
  generation_costs& costs_;
  quarantine& quarantine_;
  generation_end& generation_;
  regrouping& regrouping_;
  lease_table leases_;
};

} // namespace actorrun::core
