// Lists what a job's journal records: each change of what its coordinator knows,
// and each event and decision with its reason.
#pragma once

#include "actors/core/end_class.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/deferred_failures.hpp"
#include "actors/core/protocol/end_reason.hpp"
#include "actors/core/protocol/exclusions.hpp"
#include "actors/core/protocol/leader_change.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/protocol/rendezvous_phase.hpp"
#include "actors/core/rare_value.hpp"
#include "actors/core/shared_value.hpp"
#include "actors/core/stragglers/straggler.hpp"
#include "actors/core/time.hpp"
#include "messages/errc.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core::journal {

/// By two clocks: the coordinator's monotonic one, which says how much later one
/// moment was than another, and the wall clock for people.
struct moment {
  time_point when{};
  int64_t wall_ms = 0; ///< Unix time.

  friend bool operator==(const moment&, const moment&) = default;
};

/// An operator lets a node leave when another one can take its place.
struct waiting_drain {
  std::string by;
  time_point asked{};

  friend bool operator==(const waiting_drain&, const waiting_drain&) = default;
};

/// What kind of trouble has ended a generation.
struct trouble {
  end_class what = end_class::none;
  std::string evidence; ///< A few words.
  /// So many in a row were alike, this one included; 0: this has cost no restart.
  uint32_t alike_count = 0;
  std::string alike{}; ///< `5 ends alike: rank 3 on n2 …`; empty below 2.

  friend bool operator==(const trouble&, const trouble&) = default;
};

/// A node as its coordinator sees it.
struct node {
  agent_id agent;
  std::string host;
  std::string address;
  std::string role;
  uint32_t slot_count = 0;
  generation_id generation; ///< That it was last a member of; 0: none.
  uint32_t node_rank = 0;   ///< There …
  uint32_t first_rank = 0;  ///< … as this, which …
  uint32_t lead_slot = 0;   ///< … this slot has (`placement`).
  share_state share = share_state::idle;
  bool connected = true;
  bool leaving = false;
  std::vector<int64_t> pids{}; ///< Of its workers, by local rank.
  /// It is to leave: when, at the latest, …
  std::optional<time_point> drained_at{};
  rare_value<std::string>
    drained_by{};        ///< … and who has asked; empty: unknown.
  bool excluded = false; ///< Its host is.
  rare_value<waiting_drain> waits_to_drain{};
  /// Why it gets no place for a while: `cost 3 generations within 41 s`; empty: it
  /// may.
  rare_value<std::string> stands_by{};
  /// Why it can take no part: `its check … has failed`; empty: it can.
  rare_value<std::string> unfit{};
  bool has_checks = false;

  friend bool operator==(const node&, const node&) = default;
};

// -- what the coordinator knows -------------------------------------------------

/// The first record of a coordinator.
struct coordinator_began {
  job_id job;
  std::string host;
  int64_t pid = 0;
  bool is_successor = false; ///< There may have been one before it.
  job_settings settings;
  /// That it grants, guard included.
  std::optional<std::chrono::milliseconds> lease{};

  friend bool operator==(const coordinator_began&, const coordinator_began&)
    = default;
};

/// This coordinator's agent has been elected.
struct leader_chosen {
  agent_id agent; ///< Empty: it has none.
  uint64_t term = 0;
  leader_source by = leader_source::voters;
  leader_change::kind what = leader_change::kind::began;
  agent_id from{};
  duration silent_for{};
  std::string reason{};

  leader_change change() const { return {what, from, silent_for, reason}; }

  friend bool operator==(const leader_chosen&, const leader_chosen&) = default;
};

/// Who elects the next leader, and who else can lead.
struct voters_changed {
  uint64_t term = 0; ///< Of this one.
  std::vector<agent_id> voters;
  std::vector<agent_id> deputies;

  friend bool operator==(const voters_changed&, const voters_changed&)
    = default;
};

/// It leads no more, and knows nothing of the job any more.
struct leadership_given_up {
  std::string reason;

  friend bool operator==(const leadership_given_up&, const leadership_given_up&)
    = default;
};

struct phase_changed {
  rendezvous_phase phase = rendezvous_phase::gathering;

  friend bool operator==(const phase_changed&, const phase_changed&) = default;
};

/// Why no generation runs, or who waits beside the one that runs.
struct wait_changed {
  std::string text; ///< Empty: there is nothing to wait for.
  /// When it goes on without, or gives up; none: it waits as long as it takes.
  std::optional<time_point> until{};
  bool gives_up = false; ///< Then.

  friend bool operator==(const wait_changed&, const wait_changed&) = default;
};

/// A node is new, or something about it is.
struct node_changed {
  shared_value<node> now;

  friend bool operator==(const node_changed&, const node_changed&) = default;
};

struct quarantine_changed {
  std::vector<quarantined_node> nodes;

  friend bool operator==(const quarantine_changed&, const quarantine_changed&)
    = default;
};

struct exclusions_changed {
  std::vector<excluded_host> hosts;

  friend bool operator==(const exclusions_changed&, const exclusions_changed&)
    = default;
};

/// The job has other numbers of nodes.
struct settings_changed {
  job_settings settings;

  friend bool operator==(const settings_changed&, const settings_changed&)
    = default;
};

/// Its driver reports trouble, or none any more.
struct gpus_changed {
  agent_id agent;
  std::string
    trouble; ///< `GPU 1: XID 79: has fallen off the bus`; empty: none.

  friend bool operator==(const gpus_changed&, const gpus_changed&) = default;
};

/// The generation hangs, or does so no more.
struct hang_changed {
  generation_id generation;
  duration silent_for{0}; ///< All its workers.
  /// Why it counts as hung, and who is the cause; empty: it does so no more.
  std::string text;
  std::string where{}; ///< Where the workers are: lines. May be empty.

  friend bool operator==(const hang_changed&, const hang_changed&) = default;
};

/// Other workers are slower than the rest, or none any more.
struct stragglers_changed {
  generation_id generation;
  std::vector<straggler> named; ///< The slowest first; `stragglers_named_max`.
  uint32_t count = 0;           ///< Of all of them.

  friend bool operator==(const stragglers_changed&, const stragglers_changed&)
    = default;
};

/// Workers of a node have saved, or do so.
struct node_saved {
  agent_id agent;
  generation_id generation;
  duration saving{0}; ///< That they have spent on it, all together.
  /// What all of them that save had computed by then is safe; none: none has saved.
  std::optional<time_point> saved_up_to{};
  duration saving_since{0}; ///< Of `saving`, after that.

  friend bool operator==(const node_saved&, const node_saved&) = default;
};

/// A check of its node shows what the failure that ended a generation costs, or will
/// show it.
struct failure_attributed {
  generation_id generation;
  agent_id agent;
  attribution to = attribution::awaited;
  std::string text{};         ///< What the check has found; empty: nothing.
  uint32_t restart_count = 0; ///< Spent by now.

  friend bool operator==(const failure_attributed&, const failure_attributed&)
    = default;
};

// -- what has happened, and what was decided ------------------------------------

struct node_joined {
  agent_id agent;
  std::string host;
  bool is_back = false; ///< After its link broke, or from another coordinator.

  friend bool operator==(const node_joined&, const node_joined&) = default;
};

struct node_refused {
  agent_id agent;
  std::string host;
  errc code = errc::none;
  std::string text;

  friend bool operator==(const node_refused&, const node_refused&) = default;
};

/// Its link is broken; its lease still runs.
struct node_out_of_touch {
  agent_id agent;

  friend bool operator==(const node_out_of_touch&, const node_out_of_touch&)
    = default;
};

struct node_leaving {
  agent_id agent;
  int signal = 0; ///< That made it leave; 0: none.

  friend bool operator==(const node_leaving&, const node_leaving&) = default;
};

/// It has left or was lost.
struct node_gone {
  agent_id agent;
  std::string reason;

  friend bool operator==(const node_gone&, const node_gone&) = default;
};

struct generation_formed {
  generation_id generation;
  uint32_t node_count = 0;
  uint32_t world_size = 0;
  std::string master_address;
  uint16_t master_port = 0;
  uint32_t restart_count = 0; ///< Spent before it.
  std::string reason;         ///< Empty: the first one.
  bool adopted = false;       ///< An earlier coordinator has formed it.

  friend bool operator==(const generation_formed&, const generation_formed&)
    = default;
};

/// All its workers have been started.
struct generation_running {
  generation_id generation;

  friend bool operator==(const generation_running&, const generation_running&)
    = default;
};

/// A worker died without an order. Reports of one generation need not come in the
/// order of the deaths.
struct worker_died {
  generation_id generation;
  worker_failure failure;

  friend bool operator==(const worker_died&, const worker_died&) = default;
};

struct generation_revoked {
  generation_id generation;
  std::string reason;
  std::optional<end_origin> origin{}; ///< Of the reason.
  bool at_safe_point = false; ///< All workers have come to one step for it.

  friend bool operator==(const generation_revoked&, const generation_revoked&)
    = default;
};

/// None of its workers runs any more, and all failures have been reported.
struct generation_stopped {
  generation_id generation;
  std::optional<worker_failure> cause{}; ///< None: no worker has failed.
  collateral others{};                   ///< Ages up to the same moment.
  std::string exemption{}; ///< Why that cost no restart; empty: it did.
  std::optional<end_origin> exemption_origin{}; ///< Of that.
  uint32_t restart_count = 0;                   ///< Spent by now.
  rare_value<trouble> why{};                    ///< None: there was none.
  /// The next generation goes on where it ended: workers live that took part.
  bool has_survivors = false;

  friend bool operator==(const generation_stopped&, const generation_stopped&)
    = default;
};

struct end_requested {
  int signal = 0;
  std::string by{}; ///< The operator; empty: a signal.
  std::string reason{};

  friend bool operator==(const end_requested&, const end_requested&) = default;
};

/// An operator has asked for something, and was answered.
struct operator_asked {
  std::string by;
  std::string what; ///< In a few words: `drain n2`.
  bool done = false;
  std::string answer; ///< What was done, or why not.

  friend bool operator==(const operator_asked&, const operator_asked&)
    = default;
};

struct job_ended {
  outcome result;

  friend bool operator==(const job_ended&, const job_ended&) = default;
};

/// The last record of a process that had nothing left to do when it ended.
struct coordinator_ended {
  friend bool operator==(const coordinator_ended&, const coordinator_ended&)
    = default;
};

using fact = std::variant<
  coordinator_began, phase_changed, wait_changed, node_changed,
  quarantine_changed, exclusions_changed, settings_changed, node_joined,
  node_refused, node_out_of_touch, node_leaving, node_gone, generation_formed,
  generation_running, worker_died, generation_revoked, generation_stopped,
  end_requested, operator_asked, job_ended, coordinator_ended, gpus_changed,
  leader_chosen, voters_changed, leadership_given_up, hang_changed,
  stragglers_changed, failure_attributed, node_saved>;

struct record {
  uint64_t number = 0; ///< From 1; one coordinator leaves none out.
  moment at;
  shared_value<fact> what;

  friend bool operator==(const record&, const record&) = default;
};

} // namespace actorrun::core::journal
