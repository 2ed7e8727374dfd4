// Decides which worker is the cause where a job hangs, and says so.
#pragma once

#include "actors/core/hangs/job_silence.hpp"
#include "actors/core/reports/hang_summary.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::core {

struct hung_worker {
  uint32_t global_rank = 0;
  /// It alone is elsewhere than the others, of which there are two at least. Else it
  /// is one of the node that fell silent first.
  bool differs = false;
  /// Others wait in a collective operation that it has not launched, as NCCL says, one
  /// line; empty: that is not known. Counts more than where it is.
  std::string behind{};
  /// Where the workers are: a few printable lines, at most `failure_where_max`
  /// bytes. May be empty.
  std::string where{};
};

/// @param seen     Where the workers are that have not ended, as far as that is known.
///                 Frames count only if they are known of all.
/// @param fallback Of the node that fell silent first.
hung_worker find_hung_worker(std::vector<worker_snapshot> seen,
                             uint32_t fallback);

/// `no worker has shown a sign of life for 5 min 1 s (--hang-timeout: 5 min 0 s); rank 2
/// on n2 is the odd one out`, one line. Or `…; rank 2 on n2 is behind: rank 2 of
/// communicator #0-0 has not launched AllReduce 48213, which 63 others have (NCCL)`.
/// @param host Of the worker.
std::string sentence_of(const job_hang& what, const hung_worker& who,
                        const std::string& host, time_point now);

} // namespace actorrun::core
