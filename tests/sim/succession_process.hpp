// Describes one agent's process in the world of elections: its voter, its coordinator
// while it leads, its workers, and their fence.
#pragma once

#include "tests/sim/event_queue.hpp"
#include "tests/sim/succession_invariants.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::sim {

/// What `core::rendezvous` does, as far as an election can spoil it.
struct model_coordinator {
  enum class phase { listening, running, stopping };

  struct member {
    core::time_point heard; ///< By the leader's clock.
    uint64_t plan = 0;      ///< The newest generation that it has begun.
    uint32_t size = 0;      ///< Nodes of that.
    bool runs = false;
    /// The agent's link. What was sent on an earlier one is not delivered.
    uint64_t link = 0;
  };

  uint64_t reign = 0;
  phase at = phase::listening;
  core::time_point held_back_until;
  core::charter job;
  std::optional<uint32_t>
    accounted_for; ///< It led, and its workers have ended.
  std::map<uint32_t, member> agents;
  uint64_t generation = 0;
  uint32_t size = 0;
  std::set<uint32_t> members; ///< Of the generation.
  std::set<uint32_t> holds;   ///< May have workers.
  std::set<uint32_t> chosen;  ///< For the generation that is being written.
  uint64_t forming = 0;       ///< Number of that; 0: none.
  uint64_t last_change = 0;
  core::time_point last_join;
  std::vector<core::voter_candidate> told;
};

struct model_process : voter_facts {
  model_process(uint32_t n, core::duration promise)
    : voter_facts{.id = {"n" + std::to_string(n)}}, number(n), host(n),
      uut({id, promise}) {}

  uint32_t number;
  uint32_t host;
  core::succession uut;

  /// Ends in the midst of its orders, after so many; none: it does not.
  std::optional<uint64_t> orders_left;
  bool dies_keeping = false; ///< At its next change of what its machine keeps.
  bool is_leaving = false;
  bool wants_to_leave = false; ///< Once another leads.
  bool is_witness = false;
  bool is_paused = false;
  std::vector<action> inbox; ///< What happens while it is paused.

  // The coordinator's part.
  std::unique_ptr<model_coordinator> leads;
  bool is_hung = false; ///< Its coordinator's actor.
  std::vector<action> undecided;
  core::time_point sign; ///< The last one of that actor.

  // The agent's part. Times are of its clock.
  uint32_t linked = 0;    ///< A process; 0: none.
  uint64_t reign = 0;     ///< Of the coordinator there.
  uint64_t link = 0;      ///< To that, …
  uint64_t last_link = 0; ///< … of so many that it has begun.
  std::optional<core::time_point> joining_since;
  std::set<uint32_t> contacts;
  core::time_point fence = core::time_point::max();
  uint64_t fence_mark = 0;
  std::optional<core::time_point> unanswered;
  core::time_point asked_at;
  core::time_point answered_at;
  uint64_t share = 0;     ///< The generation whose workers it believes to run.
  uint64_t newest = 0;    ///< That it has seen.
  uint64_t plan = 0;      ///< That it has begun.
  uint32_t plan_size = 0; ///< Nodes of that.

  uint64_t workers = 0; ///< The truth: the generation of live workers; 0: none.
  uint32_t fenced_count = 0; ///< Workers ended by the fence.
};

} // namespace actorrun::sim
