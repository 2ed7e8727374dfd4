// Flattens jobs, their nodes and workers into the rows of a tree: sorted, folded,
// filtered.
#pragma once

#include "actors/core/time.hpp"
#include "cli/report/ended_view.hpp"

#include "messages/job.pb.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::cli::top {

/// Names a row, whatever its place.
struct row_id {
  std::string job;
  std::string agent{};                  ///< Empty: the job.
  std::optional<uint32_t> local_rank{}; ///< None: the node.

  friend auto operator<=>(const row_id&, const row_id&) = default;
};

/// What is known of a job, and since when.
struct job_picture {
  std::optional<v1::JobStatus> status{}; ///< None: it has not answered yet.
  int64_t pid = 0; ///< Of the process of this host that is watched; 0: any.
  core::time_point received{};
  std::string trouble{}; ///< Why nothing comes any more; empty: it does.
  /// How it has ended, as its journal tells; none: it goes on, or that is not known.
  std::optional<ended_job> end{};
};

using pictures = std::map<std::string, job_picture>;

enum class order : uint8_t { rank, cpu, memory, silence, compute, age };

inline constexpr size_t order_count = 6;

std::string to_string(order x);

struct tree_options {
  order by = order::rank;
  std::set<row_id> folded{};
  /// Only rows with this text, and those above and below them; case does not
  /// matter.
  std::string filter{};
};

/// Points into the pictures.
struct row {
  row_id id;
  const job_picture* job = nullptr;
  const v1::AgentStatus* node = nullptr;    ///< Null: a job.
  std::optional<uint32_t> rank{};           ///< Of a worker, global.
  const v1::WorkerVitals* vitals = nullptr; ///< Null: not known.
  int64_t pid = 0;                          ///< Of a worker.
  size_t depth = 0;
  bool is_folded = false;

  bool is_worker() const { return id.local_rank.has_value(); }
};

/// A lone job has no row of its own.
std::vector<row> rows_of(const pictures& jobs, const tree_options& how);

/// What a filter and a search look at, in lower case.
std::string text_of(const row& x);

std::string phase_of(const job_picture& x);

/// The state in one word: of a worker what the kernel says of it.
std::string state_of(const row& x);

/// Sums over the workers of a node; of a worker its own. None: not known.
std::optional<uint64_t> cpu_of(const row& x);
std::optional<uint64_t> memory_of(const row& x);

/// Since the last line of output; of a node the longest one.
std::optional<uint64_t> silence_of(const row& x);

/// Microseconds that a worker computes per step; of a node the longest.
std::optional<uint64_t> compute_of(const row& x);

/// Since the start of a worker; of a node the youngest one.
std::optional<uint64_t> age_of(const row& x);

} // namespace actorrun::cli::top
