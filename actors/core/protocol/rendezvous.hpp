// Decides for a job which agents take part, with which ranks, and when a new
// generation begins.
#pragma once

#include "actors/core/protocol/agent_reports.hpp"
#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/generation_costs.hpp"
#include "actors/core/protocol/generation_end.hpp"
#include "actors/core/protocol/generation_recovery.hpp"
#include "actors/core/protocol/job_course.hpp"
#include "actors/core/protocol/job_orders.hpp"
#include "actors/core/protocol/job_wait.hpp"
#include "actors/core/protocol/newcomers.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/protocol/regrouping.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "actors/core/protocol/rendezvous_phase.hpp"
#include "actors/core/protocol/rendezvous_step.hpp"
#include "actors/core/protocol/takeover.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

struct operator_decision;
struct operator_view;
class stand_by;

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
/// Every phase can lead to `ended`: all workers of a generation have succeeded, no
/// restart is left, the minimum is not met in time, or the job is stopped on
/// request. The job also ends if workers of a node cannot be killed and too few
/// nodes are left without that node: a restart might wait for another forever.
///
/// Each part has what it decides: `agent_reports` follows agents and their workers,
/// `takeover` what agents bring of earlier coordinators; `regrouping` and `newcomers`
/// decide when other nodes end a generation, `generation_end` what its end costs,
/// `job_course` how the job ends. What joins them is here.
///
/// Whatever nodes and operators do edits facts; whether the generation that runs is
/// still the wanted one follows from these alone (`group_change`). What operators ask
/// is answered in the same step (`operator_desk`).
class rendezvous {
public:
  using phase = rendezvous_phase;

  /// @param rules What the command line says about restarts.
  /// @pre `1 <= agent_count_min <= agent_count_max <= agents_per_generation_max`
  rendezvous(job_settings settings, timeouts limits,
             const restart_rules& rules = {});
  /// Its parts know each other.
  rendezvous(const rendezvous&) = delete;
  rendezvous& operator=(const rendezvous&) = delete;

  /// Applies one event and returns its effects. Deterministic. O(1), except for
  /// forming, revoking and ending a generation, and while newcomers are awaited, which
  /// are O(agents).
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<rendezvous_effect> step(const rendezvous_event& event,
                                      time_point now);

  phase current_phase() const { return job_.current(); }

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

  const restart_policy& budget() const { return generation_.budget(); }

  /// What the newest generation that is over has ended for.
  const settled_end& last_end() const { return generation_.last_end(); }

  /// What the next coordinator must know. It changes before the effects are
  /// returned that depend on it.
  charter job() const;

  /// The same, with the outcome once it is decided: the next coordinator is to decide
  /// no other.
  charter job_and_end() const;

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
  const std::optional<outcome>& result() const { return job_.result(); }

  /// The root cause, as far as it is known, of the newest generation or job that a
  /// failure has ended.
  const std::optional<worker_failure>& last_failure() const {
    return generation_.last_failure();
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
    return job_.is(phase::gathering) && !recovery_.holds_back(step_.now())
           && !waits_to_start();
  }

  /// What an agent waits for at the latest event, which may be a place in a
  /// running job.
  std::string waiting_for(const agent_id& agent) const;

private:
  using alarm = rendezvous_alarm;

  void on(const coordinator_started& event);
  void on(const agent_joined& event);
  void on(const fitness_reported& event);
  void on(const gpus_reported& event);
  void on(const timer_fired& event);

  // what operators ask
  void on(const stop_requested& event);
  void on(const node_noticed& event);
  template <class Request>
  void on(const Request& request);
  operator_view operator_view_now() const;
  /// @param told Says what is done.
  void carry_out(operator_decision x, const std::string& by,
                 rendezvous_effect told);

  // what a GPU fault asks for
  void act_on_gpu_faults();
  void drain_faulty(const agent_record& record);

  stand_by stand_by_now();

  // what follows, whatever the event was
  void advance();
  void gather();
  void wait_for_minimum();
  bool waits_to_start() const;
  void wait_to_start();
  void on_quiet();
  duration quiet() const;
  void form();
  void supervise();
  void report(std::vector<report_return> returns);
  void note_charter();
  void note_exclusions();
  job_wait wait() const;

  timeouts limits_;
  rendezvous_step step_;
  job_orders orders_;
  agent_table agents_;
  generation_costs costs_;
  generation_recovery recovery_;
  quarantine quarantine_;
  job_course job_;
  generation_end generation_;
  newcomers newcomers_;
  regrouping regrouping_;
  agent_reports reports_;
  takeover takeover_;
  bool hurry_ = false; ///< Form the next generation as soon as possible.
  /// Whose GPUs have just been found faulty.
  std::set<agent_id> faulty_;
  bool keeps_list_ = false; ///< Of excluded hosts, beyond the job.
  std::vector<excluded_host>
    listed_; ///< There, as far as it is this job's doing.
};

} // namespace actorrun::core
