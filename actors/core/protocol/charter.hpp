// Describes what is the job's and no coordinator's: it outlives each of them, with
// the agents that were told of it, and where else it is kept.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/exclusions.hpp"
#include "messages/ids.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::core {

/// No lease may be longer: a successor that cannot know that of its predecessor
/// holds back for so long.
inline constexpr auto lease_max
  = std::chrono::milliseconds{std::chrono::minutes{10}};

/// Generations from here on are not believed. What is below leaves room for more
/// terms than a job can have, however far ahead a clock was.
inline constexpr auto claimed_generation_end
  = generation_id{(uint64_t{1} << 63U) - (uint64_t{1} << 50U)};

/// A host whose own failures have cost restarts.
struct failing_host {
  std::string host;
  uint32_t failure_count = 0;

  friend bool operator==(const failing_host&, const failing_host&) = default;
};

/// A node that is to leave once another one can take its place.
struct pending_drain {
  agent_id agent;
  std::string by;
  std::chrono::milliseconds time{}; ///< That its workers get then.

  friend bool operator==(const pending_drain&, const pending_drain&) = default;
};

/// So many of each are told, which fit into a message beside the rest: the hosts
/// with the most failures, the first drains.
inline constexpr size_t told_hosts_max = 16;
inline constexpr size_t told_drains_max = 8;

/// Settings and orders that count whatever a later coordinator's command line says,
/// and what its predecessors have granted and spent.
struct charter {
  /// Grows with each change of what follows it; 0: a command line's.
  uint64_t revision = 0;
  job_settings settings{};
  /// An operator has given the job these numbers of nodes.
  bool is_resized = false;
  uint32_t restart_count = 0; ///< Spent.
  /// The newest generation whose failure has cost one of these, which a successor may
  /// find as its workers have left it; at most `newest`. 0: unknown.
  generation_id charged{};
  std::vector<excluded_host> excluded{}; ///< Their time means nothing.
  std::vector<failing_host> failing{};   ///< The worst first; `told_hosts_max`.
  /// In the order of the requests; `told_drains_max`.
  std::vector<pending_drain> drains{};
  /// No agent can have a longer lease, guard included, whose workers may live.
  std::chrono::milliseconds lease{};
  /// No generation has a higher term, or a higher number in this one.
  generation_id newest{};
  /// The nodes of that generation, if the agent of the leader's process is of it; 0: it
  /// is not, or that is unknown. As the next.
  uint32_t leader_group = 0;
  /// How the job has ended, as voters keep it; agents neither are told nor tell it.
  std::optional<outcome> decided{};

  friend bool operator==(const charter&, const charter&) = default;
};

/// Whether both know of the same orders of operators.
bool are_orders_equal(const charter& x, const charter& y);

/// Whether nothing has changed that gets a new revision.
bool is_same_job(const charter& x, const charter& y);

/// What an agent knows of the job, with what a coordinator tells it: that knows at
/// least what it says, and what its agents have told it.
void learn(std::optional<charter>& known, const charter& told);

/// Whether an agent that asks for these settings fits the job. Nodes that come
/// after a resize may ask for the old numbers or for the new; their lease fits
/// those, and may be shorter or longer for it by `leeway`.
bool fits(const job_settings& asked, const job_settings& job, bool is_resized,
          std::chrono::milliseconds leeway);

/// What bears witness of a job to a coordinator that was not told: its agents, and
/// what an earlier coordinator has left behind. An agent may lie, and what was left
/// behind may be of an earlier job with the same name; but two that say the same
/// are believed. What was left behind may not name all that agents were told of.
class charter_witnesses {
public:
  /// What an earlier coordinator has left behind. It does not name drains, nor
  /// failures.
  /// @param names_hosts It names all that are excluded.
  void know(const charter& left, bool names_hosts);

  /// @returns what is known by now of the job, if it is newer than what was, or as
  ///          new by a newer witness: of excluded hosts and of drains those that
  ///          both name, and those that were known and one of them names; of
  ///          failures what both have counted
  std::optional<charter> hear(const agent_id& who, const charter& told);

  /// Nothing more has to be found out.
  void close() { told_.clear(); }

private:
  /// What two may bear witness of: how many nodes and restarts; excluded hosts; the
  /// drains that wait, and the failures that count.
  enum class part { numbers, hosts, nodes };

  bool speaks_of(part x, const agent_id& who) const;
  bool learn(part x, const agent_id& who);

  std::map<agent_id, charter> told_; ///< Without an id: what was left behind.
  bool names_hosts_ = false;         ///< That does.
  charter known_;                    ///< As it was returned last.
  /// Of each part the revisions of the two that have agreed, the higher one first.
  std::array<std::pair<uint64_t, uint64_t>, 3> ages_{};
};

} // namespace actorrun::core
