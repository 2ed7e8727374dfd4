// The results that a worker that writes lines reports.
#pragma once

#include <cstdint>

namespace actorrun::bench {

/// Names the file that results are appended to.
inline constexpr auto result_file_variable = "ACTORRUN_BENCH_RESULTS";

/// The speed of one worker. Written in one piece.
struct write_record {
  uint64_t bytes = 0;
  int64_t nanoseconds = 0;
};

} // namespace actorrun::bench
