// Reads the environment that the launcher sets for a worker.
#pragma once

#include <cstdint>
#include <string>

namespace training {

/// Maximum number of workers of a job; more is taken for a typing error.
inline constexpr uint32_t world_size_max = 4096;

struct environment {
  uint32_t rank = 0;          ///< RANK: 0..world_size - 1.
  uint32_t world_size = 1;    ///< WORLD_SIZE: 1..`world_size_max`.
  uint32_t local_rank = 0;    ///< LOCAL_RANK: index on this node.
  std::string master_address; ///< MASTER_ADDR: where rank 0 listens.
  uint16_t master_port = 0;   ///< MASTER_PORT: 1..65535.
  std::string job;            ///< ACTORRUN_JOB_ID.
  uint64_t generation = 0;    ///< ACTORRUN_GENERATION: 1, 2, 3…
  uint64_t token = 0; ///< ACTORRUN_FENCING_TOKEN: no two groups share one.
  uint32_t restart_count = 0; ///< TORCHELASTIC_RESTART_COUNT.
};

/// Reads and checks the variables above; ends the process, naming the
/// variable, if one is missing or wrong.
environment read_environment();

} // namespace training
