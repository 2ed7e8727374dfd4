// Says what a job waits for.
#pragma once

#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/rendezvous_phase.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// Why no generation runs, or why nodes that are here have no place in the one
/// that runs.
struct job_wait {
  /// All workers are on the way to one step.
  struct round {
    std::string reason;           ///< Of the change that it is for.
    std::optional<uint64_t> step; ///< None: they are asked for one.
  };

  rendezvous_phase phase = rendezvous_phase::gathering;
  agent_table::tally counts{};
  job_settings settings{};
  generation_id generation{};
  std::string reason{}; ///< Why it is being stopped.
  /// Of which agent and host a check shows whether a restart is left; empty: of none.
  std::string awaited_check{};
  bool is_listening = false; ///< For agents of an earlier coordinator …
  bool holds_back = false;   ///< … or for what any of them may still run.
  bool awaits_ahead = false; ///< Newcomers' workers start.
  std::optional<round> on_the_way{};
  duration newcomers_wait{
    0}; ///< They may not end the generation before; or ≤ 0.
  std::optional<duration>
    time_left{}; ///< Then it goes on without, or gives up.

  /// One line for people; empty if there is nothing to wait for.
  std::string text() const;

  /// The same for a node that is not in the generation.
  std::string text_for_node() const;

  /// `2 of 2:4 nodes are here`
  std::string nodes_here() const;

private:
  std::string way_to_safe_point() const;
  std::string maximum() const;
  std::string admission(const std::string& with,
                        const std::string& otherwise) const;
};

} // namespace actorrun::core
