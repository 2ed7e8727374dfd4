// Decides for a job which agents take part, with which ranks, and when a new
// generation begins.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/generation_costs.hpp"
#include "actors/core/protocol/generation_failures.hpp"
#include "actors/core/protocol/generation_recovery.hpp"
#include "actors/core/protocol/group_change.hpp"
#include "actors/core/protocol/job_end.hpp"
#include "actors/core/protocol/job_orders.hpp"
#include "actors/core/protocol/job_wait.hpp"
#include "actors/core/protocol/lease_table.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "actors/core/protocol/rendezvous_phase.hpp"
#include "actors/core/protocol/restart_policy.hpp"
#include "actors/core/protocol/safe_point_round.hpp"
#include "actors/core/protocol/stand_by.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

struct operator_decision;
struct operator_view;

/// Runs the coordinator's side of the protocol (docs/protocol.md).
///
///             minimum met           quiet, or maximum met        all started
///  gathering -----------> last_call --------------------> starting -> running
///   ^  ^  ^               |                                   |          |
///   |  |  +- below minimum+          worker failed, agent lost, left, joined
///   |  |                                                      |          |
///   |  +----------------- all stopped ------ stopping <-------+----------+
///   +-- recovering (a successor only)
///
/// The root cause of a generation's failures, and what it costs, is decided when
/// all workers have stopped (`generation_failures`), because the first report need
/// not be about the first death.
///
/// Live workers that are parked on a node without a place end after a minute: they
/// hold its devices.
///
/// Every phase can lead to `ended`: all workers of a generation have succeeded, no
/// restart is left, the minimum is not met in time, or the job is stopped on
/// request. The job also ends if workers of a node cannot be killed and too few
/// nodes are left without that node: a restart might wait for another forever.
///
/// A change that can wait, as a node that joins, waits until all workers have come
/// to one step (`safe_point_round`), if they have safe points and do so in time.
///
/// Before a generation with safe points is ended for newcomers, those start their
/// workers, which wait. It goes on until all are ready, or their time is over.
///
/// An agent that has been ordered to stop its workers says when it has. If it does
/// not within the time that it has said it may take, its lease is not renewed any
/// more.
///
/// What operators ask is answered in the same step (`operator_desk`). What a
/// successor must know of that is in the job's `charter` (`job_orders`), of which two
/// agents, or one and what its predecessor has left behind, bear witness. Of a drain
/// that has begun, its node tells.
///
/// Whatever nodes and operators do edits facts; whether the generation that runs is
/// still the wanted one follows from these alone (`group_change`).
class rendezvous {
public:
  using phase = rendezvous_phase;

  /// @param exclude_after A host with so many failures that have cost a restart
  ///                      is excluded if enough others are left; 0: never.
  /// @pre `1 <= agent_count_min <= agent_count_max <= agents_per_generation_max`
  rendezvous(job_settings settings, timeouts limits,
             uint32_t exclude_after = 0);

  /// Applies one event and returns its effects. Deterministic. O(1), except for
  /// forming, revoking and ending a generation, and while newcomers are awaited, which
  /// are O(agents).
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<rendezvous_effect> step(const rendezvous_event& event,
                                      time_point now);

  phase current_phase() const { return phase_; }

  /// The newest generation, formed here or adopted; 0 before the first.
  generation_id generation() const { return agents_.generation(); }

  /// The highest number that is known to have been given. It grows before the
  /// effects that announce it are returned.
  generation_id highest_number() const {
    return std::max(generation(), recovery_.highest_seen());
  }

  const std::map<agent_id, agent_record>& agents() const {
    return agents_.records();
  }

  /// Agents in the current generation that are not lost.
  uint32_t member_count() const { return agents_.counts().members; }

  const restart_policy& budget() const { return policy_; }

  /// What the next coordinator must know. It changes before the effects are
  /// returned that depend on it.
  charter job() const;

  /// As they are now: an operator may change the numbers of nodes.
  const job_settings& settings() const { return orders_.settings(); }

  const std::vector<excluded_host>& excluded_hosts() const {
    return orders_.excluded().list();
  }

  /// Of agents that are here, or may yet come back from an earlier coordinator.
  const std::vector<pending_drain>& waiting_drains() const {
    return orders_.drains();
  }

  /// What is equal in all plans of the current generation.
  const generation_plan& common_plan() const { return agents_.common_plan(); }

  /// Set in phase `ended`.
  const std::optional<outcome>& result() const { return end_.result; }

  /// The root cause, as far as it is known, of the newest generation or job that a
  /// failure has ended.
  const std::optional<worker_failure>& last_failure() const {
    return last_failure_;
  }

  /// Nodes whose workers could not be killed. An entry is removed when another
  /// agent of its host joins.
  const std::vector<quarantined_node>& quarantined_nodes() const {
    return quarantine_.list();
  }

  /// What the node has cost so that it gets no place for a while: `cost 3
  /// generations within 41 s`; empty: it may have one.
  rare_value<std::string> why_it_stands_by(const agent_record& x) const {
    return x.stands_by ? rare_value{costs_.text(x.offering.agent)}
                       : rare_value<std::string>{};
  }

  /// Why no generation runs, or why nodes that are here have no place in the one
  /// that runs, in one line for people. Empty if there is nothing to wait for.
  std::string waiting_for() const { return wait().text(); }

  /// When it stops waiting for that, and goes on without or gives up; none: it
  /// waits as long as it takes.
  std::optional<time_point> waits_until() const;

  /// Whether the job ends then.
  bool gives_up_then() const {
    return phase_ == phase::gathering && !recovery_.holds_back(now_);
  }

  /// What an agent waits for at the latest event, which may be a place in a
  /// running job.
  std::string waiting_for(const agent_id& agent) const;

private:
  using effects = std::vector<rendezvous_effect>;

  enum class alarm {
    lease,
    join,
    last_call,
    quiet,
    settle,
    ahead,
    safe_point,
    recovery,
    outcome,
    stand_by,
    close,
  };

  static constexpr size_t alarm_count = size_t(alarm::close) + 1;

  // agents come and go
  void on(const coordinator_started& event);
  void on(const outcome_written& event);
  void on(const agent_joined& event);
  void on(const leases_renewed& event);
  void on(const agent_disconnected& event);
  void on(const agent_lost& event);
  void on(const agent_leaving& event);
  void on(const agent_left& event);
  void lose(const agent_id& agent, const end_reason& reason);
  void expire_leases(time_point due);

  // what agents claim to hold
  void reconcile(agent_record& record, const std::optional<claim>& held);
  void resume(agent_record& record, const claim& held);
  void recover(agent_record& record, const claim& held);
  void conclude_recovery();
  void end_unproved(const generation_recovery::findings& found);
  void hear(const agent_id& agent, const charter& told);
  void follow_drain(agent_record& record) const;
  void know_lease(duration lease);
  void hold_back_until(time_point end);
  void note_charter();
  void add_departures_of_recovery(const std::string& news);

  // workers start and end
  void on(const workers_started& event);
  void on(const worker_failed& event);
  void on(const workers_succeeded& event);
  void on(const workers_stopped& event);
  void give_up_overdue();
  void end_idle_workers();
  void put_in_quarantine(agent_record& record, uint32_t unkillable_count);

  // changes that can wait for a safe point
  void on(const safe_point_reported& event);
  void save_before_limit();
  void make_change(const group_change& x);
  bool have_safe_points() const;
  void begin_round(duration time);
  void follow_round(safe_point_round::progress x);
  void conclude_round(const std::string& what_is_amiss);
  void conclude_refused_round();
  void revoke_for(const group_change& x);
  void call_off_round(std::string reason);
  std::string reason_of_round() const;
  group_change change() const {
    return change_of(agents_, orders_, newcomers_);
  }
  group_change change_now() const;
  void send_order(std::vector<agent_id> agents, std::string reason);

  // what operators ask
  void on(const stop_requested& event);
  template <class Request>
  void on(const Request& request);
  operator_view operator_view_now() const;
  void carry_out(operator_decision x, const std::string& by);
  void begin_drain(agent_record& record);
  void notify(const agent_record& record);
  void begin_waiting_drains();
  void count_failure(const worker_failure& x);

  void on(const timer_fired& event);

  // what follows, whatever the event was
  void advance();
  void gather();
  void on_quiet();
  void form();
  void supervise();
  void admit_newcomers(const group_change& x);
  bool await_newcomers();
  void revoke(const end_reason& reason,
              const std::optional<worker_failure>& failure);

  // failures and what they cost
  void fail();
  void add_failures(const agent_id& agent, collateral failures);
  void add_departure(const agent_record& record, const end_reason& reason);
  void update_cause();
  void add_drained();
  void conclude_generation();
  void charge_generation();
  stand_by stand_by_now() {
    return {agents_, costs_, settings().agent_count_min, now_};
  }
  void report(std::vector<report_return> returns);
  job_wait wait() const;
  void settle_failures();

  // the end
  void end(outcome result);
  void close_if_empty();

  bool is_active() const {
    return phase_ == phase::starting || phase_ == phase::running;
  }
  void arm(alarm which, time_point due) {
    out_.emplace_back(alarms_.arm(which, due));
  }
  duration quiet() const;

  timeouts limits_;
  job_orders orders_;
  agent_table agents_;
  lease_table leases_;
  generation_recovery recovery_;
  phase phase_ = phase::gathering;
  job_end end_;        ///< Set in phase `ended`, but for what it has to heed.
  bool hurry_ = false; ///< Form the next generation as soon as possible.
  end_reason reason_;  ///< Of the next generation.
  time_point revoked_at_{};      ///< The latest generation.
  generation_failures failures_; ///< Of the current generation.
  std::optional<worker_failure> last_failure_;
  restart_policy policy_;
  quarantine quarantine_;
  generation_costs costs_;
  newcomer_watch newcomers_;
  safe_point_round round_; ///< In a generation that is active.
  save_request save_;
  alarm_set<alarm, alarm_count> alarms_;
  // Of the step that is taken.
  time_point now_{};
  effects out_;
};

} // namespace actorrun::core
