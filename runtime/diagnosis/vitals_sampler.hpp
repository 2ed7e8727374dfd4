// Reads from /proc how this node and its workers are doing, and from their log
// files how much they have written.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/vitals/cpu_meter.hpp"
#include "actors/core/vitals/node_vitals.hpp"
#include "actors/core/workers/worker_outputs.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::detail {

/// At most this many processes count for a worker, at most this many levels deep.
inline constexpr size_t worker_processes_max = 64;
inline constexpr size_t worker_levels_max = 8;

/// Remembers what workers had used at the last sample. Reads only files that the
/// kernel answers without waiting for a process.
class vitals_sampler {
public:
  vitals_sampler();

  /// Whether the next sample can tell how busy workers are now; if not, take one,
  /// wait a little, and take another.
  bool has_base() const;

  /// @param pids By local rank. Those beyond `core::sampled_workers_max` are left
  ///             out, and those that are no child processes of this one with a
  ///             session of their own: such a number may have another process now.
  core::node_vitals take(const std::vector<int64_t>& pids);

private:
  std::optional<core::worker_vitals> read_worker(int64_t pid);

  core::cpu_meter meter_;
  uint64_t ticks_per_second_;
  uint64_t page_size_;
  core::duration uptime_{0}; ///< At the present sample.
};

/// What a worker has written to its files.
struct output_facts {
  std::optional<uint64_t> size{}; ///< In bytes; none: there is no file.
  /// Since one of them has grown; none for empty ones.
  std::optional<std::chrono::milliseconds> age{};
};

/// Looks at the files of workers, by local rank. Blocks for as long as their file
/// system takes.
std::vector<output_facts>
inspect_outputs(const core::generation_outputs& outputs);

} // namespace actorrun::detail
