// Takes over from an earlier coordinator what agents hold, and what they were told.
#pragma once

#include "actors/core/protocol/agent_reports.hpp"

#include <optional>

namespace actorrun::core {

/// A successor listens for a lease. A generation whose agents all come back while their
/// workers run goes on (`generation_recovery`). An agent of the generation that runs
/// comes back the same way when its link broke.
///
/// What a successor must know of the job is in its `charter` (`job_orders`), of which
/// two agents, or one and what its predecessor has left behind, bear witness.
class takeover {
public:
  /// All must live as long as this.
  takeover(rendezvous_step& step, const timeouts& limits, job_course& job,
           agent_table& agents, job_orders& orders,
           generation_recovery& recovery, generation_end& generation,
           regrouping& changes, agent_reports& reports)
    : step_(step), limits_(limits), job_(job), agents_(agents), orders_(orders),
      recovery_(recovery), generation_(generation), regrouping_(changes),
      reports_(reports) {}

  void begin(const coordinator_started& event);

  /// One less has to come back.
  void on(const member_ended& event);

  /// One agent is believed that it may have workers, and nothing else.
  void hear(const agent_id& agent, const charter& told);

  /// Has an agent that joins go on with what it holds, or end it.
  void reconcile(agent_record& record, const std::optional<claim>& held);

  /// No agent of which nothing was heard has workers any more.
  void on_recovery_due();

private:
  using alarm = rendezvous_alarm;
  using phase = rendezvous_phase;

  void take_drain(agent_record& record, const claim& held);
  void rejoin(agent_record& record, const std::optional<claim>& held);
  void resume(agent_record& record, const claim& held);
  void recover(agent_record& record, const claim& held);
  void conclude();
  void raise_maximum();
  void end_unproved(const generation_recovery::findings& found);
  void end_older(agent_record& record, generation_id generation);
  void know_lease(duration lease);
  void hold_back_until(time_point end);

  rendezvous_step& step_;
  const timeouts& limits_;
  job_course& job_;
  agent_table& agents_;
  job_orders& orders_;
  generation_recovery& recovery_;
  generation_end& generation_;
  regrouping& regrouping_;
  agent_reports& reports_;
};

} // namespace actorrun::core
