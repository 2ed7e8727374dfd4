// The record that a worker of the benchmark writes at its start.
#pragma once

#include <cstdint>

namespace actorrun::bench {

/// Names the file that stamps are appended to.
inline constexpr auto stamp_file_variable = "ACTORRUN_BENCH_STAMPS";

/// One start of one worker. Written in one piece: appends do not mix.
struct stamp_record {
  int64_t time = 0;        ///< Nanoseconds, CLOCK_MONOTONIC.
  uint64_t generation = 0; ///< 0 if not set.
  int32_t pid = 0;
  int32_t local_rank = -1; ///< -1 if not set.
  int32_t world_size = 0;  ///< 0 if not set.
  int32_t reserved = 0;
};

} // namespace actorrun::bench
