// Lists what a rendezvous is notified of, and what it orders.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/deferred_failures.hpp"
#include "actors/core/protocol/end_reason.hpp"
#include "actors/core/protocol/exclusions.hpp"
#include "actors/core/protocol/leader_change.hpp"
#include "actors/core/protocol/lease_desk.hpp"
#include "actors/core/safe_point.hpp"
#include "actors/core/time.hpp"
#include "messages/errc.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

/// A successor may find workers of an earlier coordinator's generation alive, so it
/// listens for one lease, the longest that it knows of, before it forms a
/// generation. The lease counts from the beginning of `silence`. Only one that is proved to be the first need not; and whatever
/// anyone says that it has of a generation cannot be of this job.
struct coordinator_started {
  bool successor = false;
  /// Up to it there may be generations that are not known, as far as clocks agree.
  generation_id unseen{};
  /// What a predecessor has left behind, of which no agent need bear witness: its
  /// tombstone, its journal, etcd. Revision 0: nothing but the lease and the
  /// number.
  charter known{};
  /// That names all excluded hosts; a tombstone names none.
  bool names_hosts = true;
  /// A majority of voters had stored each change of that before anyone saw it: no agent
  /// knows more of the job, and none need bear witness.
  bool is_proved = false;
  /// Its predecessor had decided this, and may not have told everybody.
  std::optional<outcome> decided{};
  /// Whoever comes next must know an outcome before any agent does.
  bool writes_outcome = false;
  /// For so long no other coordinator has granted anything.
  duration silence{0};
  /// Hosts that are excluded by a list which outlives jobs, …
  std::vector<excluded_host> listed{};
  bool keeps_list = false; ///< … and which has what is excluded here, too.
};

/// A machine has proved that this agent, of the generation that was the newest when
/// another coordinator led, has ended with its workers.
struct member_ended {
  agent_id agent;
  generation_id generation;
  uint32_t node_count = 0; ///< Of that generation.
};

/// Answer to `write_outcome`.
struct outcome_written {};

struct agent_joined {
  offer offering;
  job_settings settings;
  std::optional<claim> held;   ///< What it still has of a generation.
  std::vector<int64_t> pids{}; ///< Of its workers; for the journal only.
  /// The longest that it takes to stop its workers; 0: as usual.
  duration stop_limit{0};
  /// Its address is not that of its link, and no certificate names it.
  bool is_address_unproved = false;
  /// What it was told of the job; none: no coordinator has accepted it before.
  std::optional<charter> told{};
};

/// What the lease desk has answered. It comes before a timer, and is complete:
/// until that is decided, no agent is answered.
struct leases_renewed {
  std::vector<renewal> renewals; ///< By ascending time.
};

/// The link to the agent broke; the agent may come back.
struct agent_disconnected {
  agent_id agent;
};

/// The agent cannot come back: its machine proves that it has ended.
struct agent_lost {
  agent_id agent;
  std::string evidence;
};

/// What checks of its node have found.
struct fitness_reported {
  agent_id agent;
  std::string unfit{}; ///< As in `offer`.
};

/// Its driver reports trouble, or none any more.
struct gpus_reported {
  agent_id agent;
  std::string trouble{}; ///< `GPU 1: XID 79: …`; empty: none.
};

/// The agent is about to leave and stops its workers.
struct agent_leaving {
  agent_id agent;
  int signal = 0; ///< The signal that made it leave, or 0.
};

/// The agent has left: none of its workers run any more.
struct agent_left {
  agent_id agent;
};

struct workers_started {
  agent_id agent;
  generation_id generation;
  std::vector<int64_t> pids{}; ///< By local rank; for the journal only.
};

struct worker_failed {
  agent_id agent;
  generation_id generation;
  worker_failure failure;
};

struct workers_succeeded {
  agent_id agent;
  generation_id generation;
};

struct workers_stopped {
  agent_id agent;
  generation_id generation;
  uint16_t master_port = 0;      ///< A fresh one for the next generation.
  collateral others{};           ///< Failures there that were not reported yet.
  uint32_t unkillable_count = 0; ///< Workers that SIGKILL did not end.
  parked_share parked{};         ///< Workers that live, all that there are.
  /// The highest at which one of them has passed a safe point; none: none has.
  std::optional<uint64_t> step{};
};

/// How far the workers of an agent are on the way to a safe point.
struct safe_point_reported {
  agent_id agent;
  generation_id generation;
  safe_point_report report;
};

/// The operator or the coordinator's agent ends the job.
struct stop_requested {
  int signal = 0;
  std::string by{}; ///< The operator; empty: a signal. Then there is no answer.
  std::string reason{};
};

// What operators ask, each answered at once by `answer_operator`. The texts are
// printable, one line each.

/// A node is to leave when its workers have had some time.
struct drain_requested {
  std::string node;   ///< The id of its agent, its host, or its node rank.
  duration time{0};   ///< That its workers get.
  bool waits = false; ///< It stays until another one can take its place.
  std::string by{};
};

/// A drain that waits for a replacement is not wanted any more.
struct drain_withdrawal_requested {
  std::string node; ///< As in `drain_requested`.
  std::string by{};
};

struct resize_requested {
  uint32_t agent_count_min = 0;
  uint32_t agent_count_max = 0;
  std::string by{};
};

/// A new generation is wanted, with the same nodes.
struct restart_requested {
  std::string by{};
  std::string reason{}; ///< May be empty.
};

/// No node of the host is to take part any more.
struct exclusion_requested {
  std::string host;
  std::string by{};
  std::string reason{}; ///< May be empty.
};

struct inclusion_requested {
  std::string host;
  std::string by{};
};

/// Who can lead a job whose coordinator is elected.
struct electorate {
  leader_source by = leader_source::voters;
  agent_id leader{};
  std::vector<agent_id> others{}; ///< Voters and deputies.
};

/// Another node is to lead.
struct lead_requested {
  std::string node; ///< As in `drain_requested`.
  std::string by{};
  std::optional<electorate> among{}; ///< None: the leader is not elected.
};

/// The machine of a node is about to go, whatever the job needs. Its agent says so
/// until something follows.
struct node_noticed {
  agent_id agent;
  std::string words{}; ///< Of whoever has said so; one line. May be empty.
  duration time{0};    ///< That its workers get.
};

/// Nodes are to log more, or less.
struct log_level_requested {
  std::string level;  ///< As LOGLEVEL has it: `DEBUG`.
  std::string node{}; ///< As in `drain_requested`; empty: all of them.
  std::string by{};
};

using rendezvous_event = std::variant<
  coordinator_started, member_ended, outcome_written, agent_joined,
  leases_renewed, agent_disconnected, agent_lost, fitness_reported,
  gpus_reported, agent_leaving, agent_left, workers_started, worker_failed,
  workers_succeeded, workers_stopped, safe_point_reported, stop_requested,
  drain_requested, drain_withdrawal_requested, resize_requested,
  restart_requested, exclusion_requested, inclusion_requested,
  log_level_requested, lead_requested, node_noticed, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

struct accept_agent {
  agent_id agent;
};

struct reject_agent {
  agent_id agent;
  errc code = errc::none;
  std::string text;
};

/// Ask the agent's machine whether it has ended.
struct probe_agent {
  agent_id agent;
};

/// Cut the link to the agent. If it joins later, it is a new agent.
struct forget_agent {
  agent_id agent;
  std::string reason; ///< It has left, or why it counts as lost.
};

/// Cut the link to the agent and answer it no more: its lease ends, and with it its
/// workers.
struct give_up_agent {
  agent_id agent;
  std::string reason; ///< `has not stopped its workers within 2 min`
};

/// Send each member its plan.
struct announce_generation {
  std::vector<generation_plan> plans;
  std::string reason;
};

struct revoke_generation {
  generation_id generation;
  std::vector<agent_id> agents;
  end_reason reason;
  std::optional<worker_failure> failure;
  /// It ended before: workers of a newer generation may run already.
  bool is_over = false;
};

/// Tell these members how far their workers may go.
struct send_safe_point_order {
  generation_id generation;
  std::vector<agent_id> agents;
  safe_point_order order;
  std::string reason; ///< Of the change that it is for.
};

/// Have these newcomers start their workers, which wait for their first generation:
/// the one that runs need not stand still until they have come so far. Each answers
/// with `workers_stopped` when those that live are parked.
struct start_ahead {
  generation_id generation; ///< That runs.
  uint32_t restart_count = 0;
  std::vector<agent_id> agents;
};

/// Log what is known of a generation's failures, now that all have been reported,
/// and was not known when the generation was revoked.
struct explain_failures {
  generation_id generation;
  worker_failure first;
  collateral others;
  end_reason exemption; ///< Why they cost no restart; empty: they cost one.
};

/// Have the agent give its workers notice; it leaves when they have ended, or
/// after this time.
struct notify_drain {
  agent_id agent;
  duration time{0};
  std::string reason;
  /// It leaves when all workers have come to one; its own get no notice.
  bool at_safe_point = false;
  /// It does not leave, but its workers are to save within this time.
  bool stays = false;
};

/// Have these nodes checked before they take part again.
struct order_checks {
  std::vector<agent_id> agents;
};

/// Log what follows from an end by a rule of the command line.
struct report_rule {
  std::string text;
};

/// Log that a host was excluded without an operator.
struct report_exclusion {
  std::string host;
  std::string reason;
};

/// Have the list that outlives the job name a host, …
struct list_exclusion {
  excluded_host what;
};

/// … or name it no more.
struct unlist_exclusion {
  std::string host;
};

/// Log what the failure that ended a generation costs, as far as a check of its node
/// shows it.
struct attribute_failure {
  generation_id generation;
  agent_id agent;
  std::string host;
  attribution to = attribution::awaited;
  std::string text{}; ///< What the check has found: `its check … has failed`.
};

/// Log that a node gets no place for a while, because it has cost too many
/// generations.
struct report_stand_by {
  agent_id agent;
  std::string host;
  std::string
    reason; ///< `cost 3 generations within 41 s, the last: agent n2 …`
};

/// Log that such a node may take part again.
struct report_return {
  agent_id agent;
  std::string host;
  std::string reason;
};

/// Have the agents log so much from now on.
struct set_log_level {
  std::vector<agent_id> agents;
  std::string level;
  bool is_for_all = false; ///< For the coordinator's process, too.
};

/// Have another agent lead, once the operator has the answer.
struct hand_over_leadership {
  agent_id to;
  std::string by;
};

/// What is the job's has changed: tell these agents, for their next coordinator.
struct tell_charter {
  std::vector<agent_id> agents;
};

/// Answer the operator whose request this step is about.
struct answer_operator {
  std::string by;
  std::string what;       ///< The request in a few words: `drain n2`.
  errc code = errc::none; ///< None: it was done.
  std::string text;       ///< What was done, or why not.
};

/// Have the outcome of the job known wherever the next coordinator looks, before
/// any agent acts on it; then, or if that cannot be, `outcome_written` comes.
struct write_outcome {
  outcome result;
};

/// Send these agents the outcome of the job.
struct end_job {
  outcome result;
  std::vector<agent_id> agents;
};

/// No agent is left: the coordinator may end.
struct close_job {};

using rendezvous_effect = std::variant<
  arm_timer, accept_agent, reject_agent, probe_agent, forget_agent,
  give_up_agent, announce_generation, revoke_generation, send_safe_point_order,
  start_ahead, explain_failures, notify_drain, order_checks, report_rule,
  report_exclusion, list_exclusion, unlist_exclusion, attribute_failure,
  report_stand_by, report_return, set_log_level, hand_over_leadership,
  tell_charter, answer_operator, write_outcome, end_job, close_job>;

/// One line per effect, for transcripts and logs: `revoke_generation 2 a b: …`.
std::string to_string(const rendezvous_effect& x);

} // namespace actorrun::core
