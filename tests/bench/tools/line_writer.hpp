// What a worker that writes lines tells about itself.
#pragma once

#include <cstdint>

namespace actorrun::bench {

/// Names the file that results are appended to.
inline constexpr auto result_file_variable = "ACTORRUN_BENCH_RESULTS";

/// How fast one worker could write. Written in one piece.
struct write_record {
  uint64_t bytes = 0;
  int64_t nanoseconds = 0;
};

} // namespace actorrun::bench
