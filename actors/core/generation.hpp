// Describes generations: offers of agents, their placements and shares, and how a
// job ends.
#pragma once

#include "actors/core/failure.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::core {

/// At most this many slots per agent; more is a typing error, not a machine.
inline constexpr uint32_t slots_per_agent_max = 4096;

/// Before what a node is checked.
struct check_moments {
  bool join = true;     ///< Its first generation.
  bool failure = true;  ///< The next one, if a worker there was the root cause.
  bool restart = false; ///< Each next one.
  /// Beside its workers, after so long without a check; none: not at all.
  std::optional<duration> every{};

  friend bool operator==(const check_moments&, const check_moments&) = default;
};

/// Why a node can take no part whose checks run.
inline constexpr std::string_view being_checked = "it is being checked";

/// What an agent brings to the next generation.
struct offer {
  agent_id agent;
  std::string host;    ///< For people and for the order of ranks.
  std::string address; ///< Where others reach it; MASTER_ADDR of node rank 0.
  std::string role = "default";
  uint32_t slot_count = 1;  ///< Workers, 1..`slots_per_agent_max`.
  uint16_t master_port = 0; ///< A free port, reserved; MASTER_PORT if rank 0.
  bool leased = true;       ///< False: it lives in the coordinator's process.
  /// The rank its node has been given; none: the coordinator gives one.
  std::optional<uint32_t> node_rank{};
  /// Why the node can take no part for now, one line for people: `its check … has
  /// failed`; empty: it can.
  std::string unfit{};
  /// Before its next generation it is to be checked if a worker there was the root
  /// cause of the end of the last one, …
  bool is_checked_after_failure = false;
  bool is_checked_after_end = false; ///< … or in any case.
  bool has_checks = false;           ///< At whatever moments.

  friend bool operator==(const offer&, const offer&) = default;
};

/// An agent's share of a generation.
struct placement {
  agent_id agent;
  uint32_t node_rank = 0;
  uint32_t slot_count = 0;
  uint32_t first_global_rank = 0;
  uint32_t first_role_rank = 0; ///< Rank of its first worker in its role.
  uint32_t role_world_size = 0; ///< Workers of its role in the generation.
  /// This slot has the first rank of the node, and slot 0 has its rank instead: so
  /// that global rank 0 is a worker that has lived through the change.
  uint32_t lead_slot = 0;

  /// How many ranks of the node come before this slot's.
  uint32_t order_of(uint32_t slot) const {
    return slot == 0 ? lead_slot : slot == lead_slot ? 0 : slot;
  }

  uint32_t global_rank(uint32_t slot) const {
    return first_global_rank + order_of(slot);
  }

  uint32_t role_rank(uint32_t slot) const {
    return first_role_rank + order_of(slot);
  }

  friend bool operator==(const placement&, const placement&) = default;
};

/// Ranks from the first to the last of each run, in order.
using rank_runs = std::vector<std::pair<uint32_t, uint32_t>>;

/// At most this many runs are told; later survivors are not named then.
inline constexpr size_t rank_runs_max = 1'000;

bool contains(const rank_runs& runs, uint32_t rank);

/// Adds a rank that is larger than all before. Does nothing if there is no room.
void append(rank_runs& runs, uint32_t rank);

/// A generation as one of its agents needs to know it.
struct generation_plan {
  generation_id generation;
  placement own;
  uint32_t node_count = 0;
  uint32_t world_size = 0;
  std::string master_address;
  uint16_t master_port = 0;
  uint32_t restart_count = 0; ///< Restarts spent so far by the whole job.
  /// Global ranks whose workers took part in the generation before, and go on in
  /// this one with the same processes.
  rank_runs survivors{};
  /// Its workers are started ahead of their first generation: only the agent and its
  /// slots, the restarts and the generation that others run count.
  bool is_ahead = false;

  friend bool operator==(const generation_plan&, const generation_plan&)
    = default;
};

/// How an agent's workers of one generation stand.
enum class share_state : uint8_t {
  idle,      ///< There are none, or none any more.
  starting,  ///< Not all have been started.
  running,   ///< All have been started, none has failed.
  succeeded, ///< All have exited with 0.
  failed,    ///< One has failed; the agent stops the others.
  stopping,  ///< Ordered to stop, not all have ended.
};

/// Workers of an agent that live and belong to no generation.
struct parked_share {
  /// The last that they took part in; 0: in none, they were started ahead.
  generation_id generation;
  std::vector<uint32_t> local_ranks{}; ///< In order.
  uint32_t spare_count = 0; ///< Beside them; the coordinator is not told.

  bool is_empty() const { return local_ranks.empty() && spare_count == 0; }

  friend bool operator==(const parked_share&, const parked_share&) = default;
};

/// In bytes, of the words of a notice.
inline constexpr size_t notice_words_max = 160;

/// What an agent that comes back still holds.
struct claim {
  generation_plan plan;
  share_state state = share_state::idle;
  /// Set if one of its workers has failed, whatever has become of the others.
  std::optional<worker_failure> failure;
  parked_share parked{}; ///< Only while no worker runs.
  /// The agent is to leave: the rest of its workers' time.
  std::optional<duration> drain_left{};
  /// Its machine is about to go: the words of the notice. None: an operator has asked.
  std::optional<std::string> notice{};

  friend bool operator==(const claim&, const claim&) = default;
};

/// Whether a plan can be one for the agent that has made this offer: a plan from
/// the network is not believed.
/// @retval errc::bad_plan  it cannot; the text says why, as `starts 4 workers where
/// …`
result<void> check_plan(const generation_plan& plan, const offer& own);

/// How a job ended; the same for all its agents.
struct outcome {
  enum class verdict : uint8_t {
    succeeded, ///< Every worker of one generation has exited with 0.
    failed,    ///< A worker failed and no restart was left.
    stopped,   ///< On request; `signal` says how.
    unmet,     ///< Too few agents came in time.
  };

  verdict kind = verdict::succeeded;
  /// If failed: the worker that died first of all, on whichever node. None: no
  /// worker did, and a rule ends the job for what else has happened.
  std::optional<worker_failure> first_failure{};
  /// Later failures of the same generation that were not ordered, in order; at
  /// most `other_failures_max`, with brief texts. All ages are counted up to
  /// one moment, so that they can be compared.
  std::vector<worker_failure> other_failures{};
  uint32_t unlisted_failure_count = 0; ///< More of them.
  int signal = 0;                      ///< Set if stopped.
  std::string reason{};
  end_class what = end_class::none; ///< Of the trouble, if failed.
  /// Why no restart followed although one was left: the rule that says so. Empty: none
  /// was left, or another start could not help.
  std::string given_up{};
  bool is_without_progress = false; ///< The last restarts brought no new step.

  friend bool operator==(const outcome&, const outcome&) = default;
};

/// How an agent ends.
struct ending {
  std::optional<outcome> result; ///< The job's, if it is known.
  /// What went wrong instead. Both are set if workers of this agent cannot be
  /// killed.
  std::optional<failure> why;
  int signal = 0; ///< The signal that made it leave; 0: none.
  /// Of the last generation that it took part in; none: of no one.
  std::optional<generation_plan> last{};
  /// It was drained because its machine is about to go, in these words.
  std::optional<std::string> notice{};

  /// Whether the job has succeeded, on all its nodes, and nothing went wrong here.
  bool succeeded() const {
    return !why && result && result->kind == outcome::verdict::succeeded;
  }

  friend bool operator==(const ending&, const ending&) = default;
};

std::string to_string(share_state x);
std::string to_string(outcome::verdict x);

} // namespace actorrun::core
