// Says where one worker is.
#pragma once

#include "actors/core/reports/hang_summary.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// Of one worker, and of one of its frames in bytes.
inline constexpr size_t stack_frames_max = 48;
inline constexpr size_t stack_frame_size_max = 200;

struct worker_stack {
  uint32_t global_rank = 0;
  uint32_t local_rank = 0;
  int64_t pid = 0;
  std::string source{}; ///< How it was seen: `py-spy`, `kernel`.
  /// One printable line each, the innermost of the main thread first.
  std::vector<std::string> frames{};
  std::string trouble{}; ///< Why there are none; empty: there are.
  /// What NCCL says that it has not done and others have (`lagging_process::words`);
  /// empty: nothing.
  std::string behind{};

  friend bool operator==(const worker_stack&, const worker_stack&) = default;
};

/// The frames in the output of `py-spy dump`: those of the main thread, or of the
/// first one, then those of the others, each behind a line with its name.
std::vector<std::string> python_frames(std::string_view dump);

/// What is said about a worker's place in the kernel, as `frames`.
/// @param kernel_stack As `/proc/<pid>/stack` has it; empty: it may not be read.
std::vector<std::string> kernel_frames(const thread_snapshot& first,
                                       std::string_view kernel_stack);

} // namespace actorrun::core
