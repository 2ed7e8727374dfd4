// What a worker that uses timers tells about itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace actorrun::bench {

/// Names the file that results are appended to.
inline constexpr auto timer_results_variable = "ACTORRUN_BENCH_TIMERS";

/// How many messages one worker could send.
struct flood_record {
  int64_t begin = 0; ///< Nanoseconds, CLOCK_MONOTONIC.
  int64_t end = 0;
  uint64_t message_count = 0;
  uint64_t error_count = 0; ///< Calls that did not return `ok`.
};

/// What one call took, in nanoseconds: the median of many short series.
struct call_record {
  double expires = 0; ///< A guard, from its beginning to its end.
  double alive = 0;
};

/// Most workers of a soak.
inline constexpr size_t soak_worker_max = 64;

/// What the workers of a soak do, in a file that all map. What is there when a
/// worker is killed says whether it was killed for a reason.
struct soak_board {
  struct place {
    /// When the timer that runs is due, CLOCK_MONOTONIC; 0: none runs.
    std::atomic<int64_t> due{0};
    std::atomic<uint64_t> round_count{0};
  };

  std::array<place, soak_worker_max> places;
};

} // namespace actorrun::bench
