// Describes how a node and its workers are doing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// At most this many workers of a node are sampled.
inline constexpr size_t sampled_workers_max = 4'096;

/// A worker at one moment. What is absent is not known.
struct worker_vitals {
  uint32_t local_rank = 0;
  int64_t pid = 0;
  std::optional<std::chrono::milliseconds> age{}; ///< Since its start.
  /// With its child processes; 100: one CPU.
  std::optional<uint32_t> cpu_percent{};
  /// Resident, in bytes; what the processes share counts for each of them.
  std::optional<uint64_t> memory{};
  std::optional<uint32_t> thread_count{}; ///< Of the worker itself.
  uint32_t process_count = 0;             ///< Those that were counted.
  std::optional<char> state{};            ///< One letter: see proc(5).
  std::optional<uint64_t> output_size{};  ///< Bytes in its log files.
  /// Since one of these has grown; none for empty ones.
  std::optional<std::chrono::milliseconds> output_age{};
  /// Of its last request to the timer server; none: it has made none.
  std::string timer_scope{};
  std::optional<std::chrono::milliseconds> timer_age{}; ///< Since that.
  /// Its steps since it began to say how long they take; none: it does not say it.
  std::optional<uint64_t> step_count{};
  /// Per step, as it was last: what it computes, and that with what it waits. None: that
  /// is not known yet.
  std::optional<std::chrono::microseconds> compute{};
  std::optional<std::chrono::microseconds> step_time{};

  friend bool operator==(const worker_vitals&, const worker_vitals&) = default;
};

/// Load averages; 100: one process.
struct node_load {
  uint32_t of_1_minute = 0;
  uint32_t of_5_minutes = 0;
  uint32_t of_15_minutes = 0;

  friend bool operator==(const node_load&, const node_load&) = default;
};

/// In bytes.
struct node_memory {
  uint64_t total = 0;
  uint64_t available = 0; ///< For new programs, without swapping.

  friend bool operator==(const node_memory&, const node_memory&) = default;
};

/// A node at one moment. What is absent is not known.
struct node_vitals {
  std::optional<node_load> load{};
  std::optional<uint32_t> cpu_count{};
  std::optional<node_memory> memory{};
  /// By ascending local rank, those that run; at most `sampled_workers_max`.
  std::vector<worker_vitals> workers{};
  bool truncated = false; ///< There are more workers.

  friend bool operator==(const node_vitals&, const node_vitals&) = default;
};

} // namespace actorrun::core
