// A job's coordinator decides who takes part, with which rank, and when anew.
#pragma once

#include "actors/core/epoch.hpp"
#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/failure_order.hpp"
#include "actors/core/protocol/lease_table.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/protocol/restart_policy.hpp"
#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

/// A successor may find workers of an earlier coordinator's epoch alive, and
/// listens for a lease before it forms its own.
struct coordinator_started {
  bool successor = false;
  epoch_id unseen{}; ///< Up to it there may be epochs that nobody here knows.
};

struct agent_joined {
  offer offering;
  job_settings settings;
  std::optional<claim> held; ///< What it still has, if it was here before.
};

/// A keep-alive came in.
struct agent_heard {
  agent_id agent;
};

/// The link to it broke; it may come back.
struct agent_disconnected {
  agent_id agent;
};

/// It will never come back: its host says that its process is gone.
struct agent_lost {
  agent_id agent;
  std::string evidence;
};

/// It wants out and stops its workers.
struct agent_leaving {
  agent_id agent;
  int signal = 0; ///< The reason, if a signal was; else 0.
};

/// It is out: nothing of the job runs there any more.
struct agent_left {
  agent_id agent;
};

struct workers_started {
  agent_id agent;
  epoch_id epoch;
};

struct worker_failed {
  agent_id agent;
  epoch_id epoch;
  worker_failure failure;
};

struct workers_succeeded {
  agent_id agent;
  epoch_id epoch;
};

struct workers_stopped {
  agent_id agent;
  epoch_id epoch;
  uint16_t master_port = 0;      ///< A fresh one for the next epoch.
  collateral others{};           ///< What failed there and has not been told.
  uint32_t unkillable_count = 0; ///< Those of them that SIGKILL did not end.
};

/// Somebody ends the job.
struct stop_requested {
  int signal = 0;
};

using rendezvous_event
  = std::variant<coordinator_started, agent_joined, agent_heard,
                 agent_disconnected, agent_lost, agent_leaving, agent_left,
                 workers_started, worker_failed, workers_succeeded,
                 workers_stopped, stop_requested, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

struct accept_agent {
  agent_id agent;
};

struct reject_agent {
  agent_id agent;
  errc code = errc::none;
  std::string text;
};

struct grant_lease {
  agent_id agent;
};

/// Ask the agent's host whether its process lives.
struct probe_agent {
  agent_id agent;
};

/// Cut the link to it; a later join of it begins anew.
struct forget_agent {
  agent_id agent;
};

/// Tell each agent its plan.
struct announce_epoch {
  std::vector<epoch_plan> plans;
  std::string reason;
};

struct revoke_epoch {
  epoch_id epoch;
  std::vector<agent_id> agents;
  std::string reason;
  std::optional<worker_failure> failure;
};

/// Write down what is known of an epoch's failures now that all have been told,
/// and was not when it was revoked.
struct explain_failures {
  epoch_id epoch;
  worker_failure first;
  collateral others;
  std::string exemption; ///< Why they cost nothing; empty: they do.
};

/// Tell these agents how the job ended.
struct end_job {
  outcome result;
  std::vector<agent_id> agents;
};

/// Nobody is left to tell: the coordinator may end.
struct close_job {};

using rendezvous_effect
  = std::variant<arm_timer, accept_agent, reject_agent, grant_lease,
                 probe_agent, forget_agent, announce_epoch, revoke_epoch,
                 explain_failures, end_job, close_job>;

/// One line per effect, for transcripts and logs: `revoke_epoch 2 a b: …`.
std::string to_string(const rendezvous_effect& x);

// -- state --------------------------------------------------------------------

/// What the coordinator knows of an agent.
struct agent_record {
  offer offering;
  uint64_t arrival = 0; ///< Orders those who wait for a place.
  placement place;      ///< In the epoch it was last a member of.
  epoch_id member_of;   ///< That epoch; 0 if none.
  epoch_id holds;       ///< Workers of this epoch may run there; 0 if none.
  share_state share = share_state::idle;
  std::optional<worker_failure> failure; ///< Told of its share …
  time_point failure_told{};             ///< … at this time.
  bool connected = true;
  bool leaving = false;
  /// Another agent has its rank; it waits for that one to be lost.
  bool shadowed = false;
};

///             minimum met           quiet, or maximum met        all started
///  gathering -----------> last_call --------------------> starting -> running
///   ^  ^  ^               |                                   |          |
///   |  |  +- below minimum+          worker failed, agent lost, left, joined
///   |  |                                                      |          |
///   |  +----------------- all stopped ------ stopping <-------+----------+
///   +-- recovering (a successor only)
///
/// Which failure was the first and what it costs is decided when all have
/// stopped. The first report need not tell of the first death: its agent may
/// have been the quicker one. And workers fail because the workers of an agent
/// that died or left are gone, and often their report is quicker than the news
/// of the agent; that costs no restart.
///
/// From every phase: `ended`, when all workers of an epoch have succeeded, no
/// restart is left, the minimum is not met in time, or somebody ends the job.
/// Also when workers of a node cannot be killed and too few nodes are left
/// without it: a restart that waited for another might wait in vain.
class rendezvous {
public:
  enum class phase { gathering, last_call, starting, running, stopping, ended };

  /// @pre `1 <= agent_count_min <= agent_count_max <= agents_per_epoch_max`
  rendezvous(job_settings settings, timeouts limits);

  /// Applies one event and returns its effects. Deterministic. O(1), but what
  /// forms, revokes or ends is O(agents).
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<rendezvous_effect> step(const rendezvous_event& event,
                                      time_point now);

  phase current_phase() const { return phase_; }

  /// The newest epoch, formed here or adopted; 0 before the first.
  epoch_id epoch() const { return epoch_; }

  const std::map<agent_id, agent_record>& agents() const { return agents_; }

  /// Agents in the current epoch that are not lost.
  uint32_t member_count() const { return tally_.members; }

  const restart_policy& budget() const { return policy_; }

  const job_settings& settings() const { return settings_; }

  /// What is equal in all plans of the current epoch.
  const epoch_plan& common_plan() const { return common_; }

  /// Set in phase `ended`.
  const std::optional<outcome>& result() const { return result_; }

  /// The first cause, as far as it is known, of the newest epoch or job that a
  /// failure has ended.
  const std::optional<worker_failure>& last_failure() const {
    return last_failure_;
  }

  /// Nodes whose workers could not be killed. A mark goes when another agent of
  /// its host joins.
  const std::vector<quarantined_node>& quarantined_nodes() const {
    return marks_.list();
  }

  /// Why nothing runs, or why nobody starts again: one line, for people. Empty
  /// while running.
  std::string waiting_for() const;

  /// What an agent waits for, which may be a place in a running job.
  std::string waiting_for(const agent_id& agent) const;

private:
  using effects = std::vector<rendezvous_effect>;

  enum alarm : size_t {
    lease_alarm,
    join_alarm,
    last_call_alarm,
    quiet_alarm,
    settle_alarm,
    recovery_alarm,
    close_alarm,
    alarm_count,
  };

  struct armed {
    timer_id timer;
    time_point due;
  };

  /// A member that went while its epoch was being stopped.
  struct departure {
    agent_id agent;
    std::string reason;
  };

  /// How many agents are what; kept up to date so that a step is O(1).
  struct tally {
    uint32_t candidates = 0; ///< May be placed in the next epoch.
    uint32_t holding = 0;    ///< May still have workers running.
    uint32_t members = 0;    ///< Belong to the current epoch …
    uint32_t starting = 0;   ///< … and have not started all workers,
    uint32_t unfinished = 0; ///< … or not succeeded yet.
    uint32_t newcomers = 0;  ///< Candidates outside the current epoch.
  };

  // rendezvous.cpp: one handler per event
  void on(const coordinator_started& event, time_point now, effects& out);
  void on(const agent_joined& event, time_point now, effects& out);
  void on(const agent_heard& event, time_point now, effects& out);
  void on(const agent_disconnected& event, time_point now, effects& out);
  void on(const agent_lost& event, time_point now, effects& out);
  void on(const agent_leaving& event, time_point now, effects& out);
  void on(const agent_left& event, time_point now, effects& out);
  void on(const workers_started& event, time_point now, effects& out);
  void on(const worker_failed& event, time_point now, effects& out);
  void on(const workers_succeeded& event, time_point now, effects& out);
  void on(const workers_stopped& event, time_point now, effects& out);
  void on(const stop_requested& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);
  std::optional<failure> refusal(const agent_joined& event) const;
  bool is_rank_taken(const offer& x) const;
  void hand_over(const agent_record& gone);
  void lose(const agent_id& agent, const std::string& reason, effects& out);
  void expire_leases(time_point due, time_point now, effects& out);

  // rendezvous_epochs.cpp: what follows, whatever the event was
  void advance(time_point now, effects& out);
  void gather(time_point now, effects& out);
  void supervise(time_point now, effects& out);
  void welcome(time_point now, effects& out);
  void on_quiet(time_point now, effects& out);
  void on_settled(time_point now, effects& out);
  std::vector<agent_record*> choose_members();
  void form(effects& out);
  void revoke(const std::string& reason,
              const std::optional<worker_failure>& failure, effects& out);
  void fail(effects& out);
  void note(const agent_id& agent, collateral failures, time_point now);
  void exempt(const agent_record& record, const std::string& reason);
  void settle();
  const std::string* find_exemption() const;
  void conclude_epoch(time_point now, effects& out);
  void settle_failures(time_point now, effects& out);
  void put_in_quarantine(agent_record& record, uint32_t unkillable_count);
  void end(outcome result, time_point now, effects& out);
  void close_if_empty(effects& out);

  // rendezvous_recovery.cpp: what agents claim to hold
  void reconcile(agent_record& record, const std::optional<claim>& held,
                 time_point now, effects& out);
  void resume(agent_record& record, const claim& held, time_point now,
              effects& out);
  void recover(agent_record& record, const claim& held, time_point now,
               effects& out);
  void conclude_recovery(effects& out);
  epoch_plan plan_for(const agent_record& record) const;

  bool active() const {
    return phase_ == phase::starting || phase_ == phase::running;
  }
  agent_record* find(const agent_id& agent);
  agent_record* member(const agent_id& agent, epoch_id epoch);
  void count(const agent_record& x, int sign);
  void recount();
  /// Changes a record and keeps the tally.
  template <class F>
  void change(agent_record& x, F f) {
    count(x, -1);
    f(x);
    count(x, +1);
  }
  void arm(alarm which, time_point due, effects& out);
  void disarm(alarm which) { alarms_[which] = {}; }
  bool is_armed(alarm which) const { return alarms_[which].timer.value != 0; }
  duration quiet() const;

  job_settings settings_;
  timeouts limits_;
  restart_policy policy_;
  lease_table leases_;
  std::map<agent_id, agent_record> agents_;
  tally tally_;
  phase phase_ = phase::gathering;
  epoch_id epoch_;       ///< The current one, or the last that was.
  epoch_id epoch_floor_; ///< The newest anybody has seen.
  epoch_id unseen_;      ///< The newest there can be that nobody has seen.
  epoch_plan common_;    ///< What is equal in all plans of the current epoch.
  bool recovering_ = false;
  bool formed_ = false; ///< This coordinator has formed an epoch itself.
  bool hurry_ = false;  ///< Nothing more to wait for: form when possible.
  bool closed_ = false;
  std::string why_;        ///< Reason of the next epoch.
  bool failed_ = false;    ///< A failure has ended the current epoch.
  failure_order failures_; ///< Of the current epoch.
  std::vector<departure> departures_;
  quarantine marks_;
  bool has_quarantined_ = false; ///< Since the current epoch began.
  uint64_t arrivals_ = 0;
  time_point last_arrival_{};
  time_point first_newcomer_{};
  std::array<armed, alarm_count> alarms_;
  timer_id last_timer_;
  std::optional<outcome> result_;
  std::optional<worker_failure> last_failure_;
};

std::string to_string(rendezvous::phase x);

} // namespace actorrun::core
