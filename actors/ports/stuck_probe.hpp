// Finds out where stuck workers are, without their help.
#pragma once

#include "actors/core/reports/worker_stack.hpp"
#include "messages/ids.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun::ports {

/// A worker to inspect.
struct probed_worker {
  uint32_t local_rank = 0;
  uint32_t global_rank = 0;
  int64_t pid = 0;
  /// The full findings are written beside this file; empty: nowhere.
  std::string error_file{};
};

/// What there is to say of workers whose stacks were not seen.
/// @param why One printable line, the same for all.
inline std::vector<core::worker_stack>
without_stacks(const std::vector<probed_worker>& workers,
               const std::string& why) {
  auto out = std::vector<core::worker_stack>{};
  for (const auto& x : workers)
    out.push_back({.global_rank = x.global_rank,
                   .local_rank = x.local_rank,
                   .pid = x.pid,
                   .trouble = why});
  return out;
}

/// EXTENSION POINT. A STUCK PROBE inspects workers from outside.
class stuck_probe {
public:
  virtual ~stuck_probe() = default;

  /// Returns at once and inspects the workers meanwhile, for at most `limit`.
  /// @param overdue  The local rank of one of `workers`: the one to be named.
  /// @param on_done  Is called at most once, on any thread, with a summary of a few
  ///                 printable lines; empty: nothing could be found out.
  virtual void look(std::vector<probed_worker> workers, uint32_t overdue,
                    std::chrono::milliseconds limit,
                    std::function<void(std::string summary)> on_done)
    = 0;

  /// Returns at once and finds out meanwhile where each of the workers is, for at
  /// most `limit`.
  /// @param on_done Is called once, on any thread, with all workers in their order;
  ///                never when the probe is gone, nor where the system never lets go
  ///                of who reads about a worker.
  virtual void
  see(std::vector<probed_worker> workers, std::chrono::milliseconds limit,
      std::function<void(std::vector<core::worker_stack> seen)> on_done)
    = 0;

  /// Where a process is that outlived SIGKILL: one printable line, as
  /// `uninterruptible in rpc_wait_bit_killable`; empty if that cannot be seen.
  /// Takes microseconds.
  virtual std::string summarize(int64_t pid) = 0;
};

} // namespace actorrun::ports
