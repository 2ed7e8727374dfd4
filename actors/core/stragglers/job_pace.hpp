// Decides for a coordinator which workers are slower than the others.
#pragma once

#include "actors/core/stragglers/node_pace.hpp"
#include "actors/core/stragglers/straggler.hpp"
#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

/// A node of the generation, and the ranks of its workers.
struct paced_node {
  agent_id agent;
  std::string host;
  uint32_t first_global_rank = 0;
  uint32_t slot_count = 0;
};

/// Which workers are slower than the others, as it has changed.
struct straggler_finding {
  generation_id generation;
  std::vector<straggler>
    named{};          ///< The slowest first; `stragglers_named_max`.
  uint32_t count = 0; ///< Of all of them; 0: none any more.
  /// Where there are some, and what is to follow there.
  std::map<agent_id, straggler_action> nodes{};

  friend bool operator==(const straggler_finding&, const straggler_finding&)
    = default;
};

/// A worker is slower than the others if its median is beyond that of all workers by more than
/// the distance, and each of its windows by more than half of it. It is so no longer when its
/// median is within half of the distance.
///
/// The distance is a multiple of the usual difference: 1.4826 times the median of the
/// differences from the median, which for normal noise is its standard deviation; and at
/// least 1/64 of the median, as no people would act on less. Both medians stay what they are,
/// whatever fewer than half of the workers do.
class job_pace {
public:
  /// Fewer have no others to be compared with; and at least half of the workers of the
  /// generation must be known.
  static constexpr size_t workers_min = 3;

  /// No worker says how long it computes.
  bool empty() const { return said_.empty(); }

  void note(const agent_id& agent, pace_report x);

  /// Nothing is known of the agent: it has left, or comes back.
  void forget(const agent_id& agent) { said_.erase(agent); }

  /// @param running A generation; 0: none runs.
  /// @param members All nodes on which its workers run.
  /// @returns which are slower, if these are others than before. O(N log N) for N workers
  std::optional<straggler_finding> find(generation_id running,
                                        const std::vector<paced_node>& members);

private:
  struct known_worker {
    const paced_node* node = nullptr;
    worker_pace pace;
    straggler_action action{};
  };

  std::vector<known_worker> known(const std::vector<paced_node>& members,
                                  uint32_t& distance) const;
  bool is_slow(const worker_pace& x, duration usual, duration beyond) const;

  std::map<agent_id, pace_report> said_;
  generation_id found_in_{};
  std::set<uint32_t> slow_; ///< The ranks that were found.
};

} // namespace actorrun::core
