// The results that a worker that uses timers reports.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace actorrun::bench {

/// Names the file that results are appended to.
inline constexpr auto timer_results_variable = "ACTORRUN_BENCH_TIMERS";

/// The rate of messages of one worker.
struct flood_record {
  int64_t begin = 0; ///< Nanoseconds, CLOCK_MONOTONIC.
  int64_t end = 0;
  uint64_t message_count = 0;
  uint64_t error_count = 0; ///< Calls that did not return `ok`.
};

/// The time of one call, in nanoseconds: the median of many short series.
struct call_record {
  double expires = 0; ///< A guard, from its beginning to its end.
  double alive = 0;
};

/// Maximum number of workers of a soak.
inline constexpr size_t soak_worker_max = 64;

/// The progress of the workers of a soak, in a file that all map. It shows
/// whether a killed worker was late.
struct soak_progress {
  struct place {
    /// The deadline of the running timer, CLOCK_MONOTONIC; 0 if none runs.
    std::atomic<int64_t> due{0};
    std::atomic<uint64_t> round_count{0};
  };

  std::array<place, soak_worker_max> places;
};

} // namespace actorrun::bench
