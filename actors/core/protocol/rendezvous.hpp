// Decides for a job which agents take part, with which ranks, and when a new
// generation begins.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/alarm_set.hpp"
#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/exclusions.hpp"
#include "actors/core/protocol/generation_costs.hpp"
#include "actors/core/protocol/generation_failures.hpp"
#include "actors/core/protocol/generation_recovery.hpp"
#include "actors/core/protocol/lease_table.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "actors/core/protocol/restart_policy.hpp"
#include "actors/core/protocol/safe_point_round.hpp"
#include "messages/result.hpp"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

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
/// What operators ask is answered in the same step. It never costs a restart, and
/// is refused where it would leave a job that runs with too few nodes. What a
/// successor must know of that is in the job's `charter`, of which two agents, or
/// one and what its predecessor has left behind, bear witness. Of a drain that has
/// begun, its node tells.
class rendezvous {
public:
  enum class phase { gathering, last_call, starting, running, stopping, ended };

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
  const job_settings& settings() const { return settings_; }

  const std::vector<excluded_host>& excluded_hosts() const {
    return exclusions_.list();
  }

  /// Of agents that are here, or may yet come back from an earlier coordinator.
  const std::vector<pending_drain>& waiting_drains() const {
    return waiting_drains_;
  }

  /// What is equal in all plans of the current generation.
  const generation_plan& common_plan() const { return agents_.common_plan(); }

  /// Set in phase `ended`.
  const std::optional<outcome>& result() const { return result_; }

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
  std::string waiting_for() const;

  /// When it stops waiting for that, and goes on without or gives up; none: it
  /// waits as long as it takes.
  std::optional<time_point> waits_until() const;

  /// Whether the job ends then.
  bool gives_up_then() const {
    return phase_ == phase::gathering && !holds_back();
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
  void on(const coordinator_started& event, time_point now, effects& out);
  void on(const outcome_written& event, time_point now, effects& out);
  void on(const agent_joined& event, time_point now, effects& out);
  void on(const leases_renewed& event, time_point now, effects& out);
  void on(const agent_disconnected& event, time_point now, effects& out);
  void on(const agent_lost& event, time_point now, effects& out);
  void on(const agent_leaving& event, time_point now, effects& out);
  void on(const agent_left& event, time_point now, effects& out);
  std::optional<failure> refusal(const agent_joined& event) const;
  bool is_silent(const agent_id& agent) const;
  std::string way_to_safe_point() const;
  std::string nodes_here() const;
  std::string maximum() const;
  std::string admission(const std::string& with,
                        const std::string& otherwise) const;
  void lose(const agent_id& agent, const end_reason& reason, effects& out);
  void expire_leases(time_point due, time_point now, effects& out);

  // what agents claim to hold
  void reconcile(agent_record& record, const std::optional<claim>& held,
                 time_point now, effects& out);
  void resume(agent_record& record, const claim& held, time_point now,
              effects& out);
  void recover(agent_record& record, const claim& held, time_point now,
               effects& out);
  void conclude_recovery(time_point now, effects& out);
  void end_unproved(const generation_recovery::findings& found, time_point now,
                    effects& out);
  void on_held_back(time_point now, effects& out);
  void hear(const agent_id& agent, const charter& told, time_point now,
            effects& out);
  void take_over(const charter& known, time_point now);
  /// Until then agents are heard that may know more of the job.
  bool is_learning(time_point now) const {
    return recovery_.is_open() || now < hold_back_end_;
  }
  void settle_host(const std::string& host);
  void settle_drain(const agent_id& agent);
  void take_over_exclusions(const std::vector<excluded_host>& known);
  void take_over_drains(const std::vector<pending_drain>& known,
                        time_point now);
  void know_lease(duration lease, time_point now, effects& out);
  void hold_back_until(time_point end, time_point now, effects& out);
  bool holds_back() const {
    return recovery_.is_listening() || now_ < hold_back_end_;
  }
  void note_charter(effects& out);
  void add_departures_of_recovery(const std::string& news);

  // workers start and end
  void on(const workers_started& event, time_point now, effects& out);
  void on(const worker_failed& event, time_point now, effects& out);
  void on(const workers_succeeded& event, time_point now, effects& out);
  void on(const workers_stopped& event, time_point now, effects& out);
  void expect_stop(agent_record& record) const;
  void give_up_overdue(time_point now, effects& out);
  void set_parked(agent_record& record, parked_share x) const;
  void end_idle_workers(time_point now, effects& out);
  void put_in_quarantine(agent_record& record, uint32_t unkillable_count);

  // changes that can wait for a safe point
  void on(const safe_point_reported& event, time_point now, effects& out);
  void want_save(time_point limit);
  void save_before_limit(time_point now, effects& out);
  void make_change(time_point now, effects& out);
  bool have_safe_points() const;
  void begin_round(duration time, time_point now, effects& out);
  void follow_round(safe_point_round::progress x, effects& out);
  void conclude_round(const std::string& what_is_amiss, effects& out);
  void conclude_refused_round(effects& out);
  void revoke_for(const end_reason& change, effects& out);
  void call_off_round(std::string reason, effects& out);
  std::string reason_of_round() const;
  end_reason wanted_change() const;
  end_reason reason_of_newcomers() const;
  void admit_standbys(end_reason reason, uint32_t newcomers_before);
  void send_order(std::vector<agent_id> agents, std::string reason,
                  effects& out) const;
  std::vector<agent_id> busy_members() const;

  // what operators ask
  void on(const stop_requested& event, time_point now, effects& out);
  void on(const drain_requested& event, time_point now, effects& out);
  void on(const drain_withdrawal_requested& event, time_point now,
          effects& out);
  void on(const resize_requested& event, time_point now, effects& out);
  void on(const restart_requested& event, time_point now, effects& out);
  void on(const exclusion_requested& event, time_point now, effects& out);
  void on(const inclusion_requested& event, time_point now, effects& out);
  void on(const log_level_requested& event, time_point now, effects& out);
  actorrun::result<std::string> set_level(const log_level_requested& event,
                                          effects& out);
  actorrun::result<std::string> drain(const drain_requested& event,
                                      time_point now, effects& out);
  actorrun::result<std::string>
  withdraw_drain(const drain_withdrawal_requested& event);
  actorrun::result<std::string> exclude(const exclusion_requested& event,
                                        time_point now);
  actorrun::result<std::string> resize(const resize_requested& event);
  std::string why_not_now() const;
  actorrun::result<agent_record*> find_node_now(const std::string& name);
  actorrun::result<agent_record*> find_node(const std::string& name);
  std::string why_unknown(const std::string& name) const;
  std::string title(const agent_record& x) const;
  bool can_spare(const agent_record& x) const;
  bool is_replaced(const agent_record& x) const;
  bool can_spare_host(const std::string& host) const;
  bool are_enough(uint32_t rest, bool is_missed) const;
  void begin_drain(agent_record& record, time_point now, effects& out);
  static void notify(const agent_record& record, time_point now, effects& out);
  void remember_drain(agent_record& record, time_point now) const;
  void begin_waiting_drains(time_point now, effects& out);
  void add_exclusion(excluded_host x);
  void count_failure(const worker_failure& x, time_point now, effects& out);
  end_reason exclusion_of_member() const;
  end_reason drain_of_member() const;
  bool fits(const agent_joined& event) const;

  void on(const timer_fired& event, time_point now, effects& out);

  // what follows, whatever the event was
  void advance(time_point now, effects& out);
  void gather(time_point now, effects& out);
  void on_quiet(time_point now, effects& out);
  void form(time_point now, effects& out);
  void supervise(time_point now, effects& out);
  void admit_newcomers(time_point now, effects& out);
  void admit(time_point now, effects& out);
  bool await_newcomers(time_point now, effects& out);
  bool can_admit() const;
  bool is_finishing() const;
  bool has_surplus() const;
  uint32_t room() const;
  void on_settled(time_point now, effects& out);
  void revoke(const end_reason& reason,
              const std::optional<worker_failure>& failure, effects& out);

  // failures and what they cost
  void fail(effects& out);
  void add_failures(const agent_id& agent, collateral failures, time_point now);
  void add_departure(const agent_record& record, const end_reason& reason);
  void update_cause();
  void add_drained();
  void conclude_generation(time_point now, effects& out);
  void charge_generation(effects& out);
  void charge(const agent_id& agent, effects& out);
  void follow_stand_by(const std::string& host);
  void let_in(agent_record& record, std::string reason, effects& out);
  void let_in_those_due(time_point now, effects& out);
  void let_in_for_minimum(effects& out);
  std::string stand_by_text(const agent_record& x) const;
  void settle_failures(time_point now, effects& out);

  // the end
  void end(outcome result, time_point now, effects& out);
  void close_if_empty(effects& out);

  bool is_active() const {
    return phase_ == phase::starting || phase_ == phase::running;
  }
  void arm(alarm which, time_point due, effects& out) {
    out.emplace_back(alarms_.arm(which, due));
  }
  duration quiet() const;

  job_settings settings_;
  timeouts limits_;
  restart_policy policy_;
  lease_table leases_;
  agent_table agents_;
  generation_recovery recovery_;
  charter_witnesses
    witnesses_;     ///< Until this coordinator has formed a generation.
  charter charter_; ///< As it was told last, but for what `job` adds.
  uint64_t revision_seen_ = 0; ///< The highest that anyone has told.
  // What is ordered here counts more than what agents tell of earlier orders.
  bool is_resized_here_ = false;
  std::set<std::string>
    settled_hosts_; ///< Excluded here or not; while it learns.
  std::set<agent_id> settled_drains_; ///< Asked for here or not; likewise.
  time_point began_{};
  /// No new generation before: agents that were not heard of may have workers.
  time_point hold_back_end_{};
  /// The job was over before this coordinator began.
  bool is_decided_ = false;
  bool writes_outcome_ = false;
  bool is_outcome_told_ = false;
  generation_failures failures_; ///< Of the current generation.
  quarantine quarantine_;
  exclusions exclusions_;
  std::vector<pending_drain> waiting_drains_; ///< In the order of the requests.
  /// An agent that is gone, for operators who still name it.
  struct gone_agent {
    agent_id agent;
    std::string host;
    std::string reason;
  };
  std::deque<gone_agent> gone_; ///< The last ones, the newest at the end.
  /// Why the job has other numbers of nodes than at the beginning; empty: it has
  /// not.
  end_reason resize_reason_;
  /// Why nodes that stood by may take part in the next generation, and how many
  /// those are; empty: there is no such reason.
  end_reason admission_reason_;
  uint32_t admitted_count_ = 0;
  generation_costs costs_;
  time_point revoked_at_{};        ///< The latest generation.
  std::vector<agent_id> let_in_{}; ///< It was revoked for these newcomers.
  safe_point_round round_;         ///< In a generation that is active.
  time_point round_began_;
  /// The job ends then: all workers are to save at one step before.
  std::optional<time_point> limit_;
  std::optional<time_point> handled_limit_; ///< They have, or could not.
  alarm_set<alarm, alarm_count> alarms_;
  phase phase_ = phase::gathering;
  bool is_first_
    = false; ///< Of its job: whoever claims to have a generation, and has not
             ///< got it here, is of one that was before.
  generation_id first_generation_; ///< That was formed here; 0: none was.
  bool hurry_ = false; ///< Form the next generation as soon as possible.
  bool ended_for_newcomers_ = false; ///< The last generation was.
  bool closed_ = false;
  bool has_quarantined_
    = false;          ///< A member, since the current generation began.
  end_reason reason_; ///< Of the next generation.
  time_point now_{};  ///< Of the latest event.
  time_point last_arrival_{};
  time_point first_newcomer_{};
  bool settles_full_ = false; ///< They leave no room: none is waited for.
  std::optional<outcome> result_;
  std::optional<worker_failure> last_failure_;
};

std::string to_string(rendezvous::phase x);

} // namespace actorrun::core
