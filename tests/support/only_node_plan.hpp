// The plan of a generation that one node forms alone.
#pragma once

#include "actors/core/generation.hpp"

#include <utility>

namespace actorrun::test {

inline core::generation_plan only_node_plan(uint64_t generation,
                                            uint32_t slot_count,
                                            core::rank_runs survivors = {}) {
  return {.generation = {generation},
          .own = {.agent = {"a"},
                  .node_rank = 0,
                  .slot_count = slot_count,
                  .first_global_rank = 0,
                  .first_role_rank = 0,
                  .role_world_size = slot_count},
          .node_count = 1,
          .world_size = slot_count,
          .master_address = "10.0.0.1",
          .master_port = 29500,
          .restart_count = 0,
          .survivors = std::move(survivors)};
}

} // namespace actorrun::test
