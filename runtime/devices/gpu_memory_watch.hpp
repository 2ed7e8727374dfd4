// Reports when ended workers hold no GPU memory any more.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// Timeout for the memory of ended workers. The kernel frees it before it
/// reports a death, so this is for processes that workers have left behind and
/// for a driver that cleans up; a driver that takes longer has failed, and a
/// restart must not wait for that.
inline constexpr auto gpu_memory_timeout = std::chrono::seconds{5};

/// Asks the driver through NVML on detached threads: a driver that hangs costs
/// the timeout and a thread. No callback runs once this is gone.
class gpu_memory_watch {
public:
  /// Takes a text for people; empty: no problem.
  using freed_handler = std::function<void(std::string complaint)>;

  gpu_memory_watch();
  ~gpu_memory_watch();
  gpu_memory_watch(const gpu_memory_watch&) = delete;
  gpu_memory_watch& operator=(const gpu_memory_watch&) = delete;

  /// Calls `done` once, on another thread or on this: when no GPU lists a
  /// process of `ended` or of their sessions any more, or after `timeout`, or
  /// at once if no GPU can be asked.
  /// @param ended Leaders of their sessions; may have been reaped.
  void await(std::vector<pid_t> ended, freed_handler done,
             std::chrono::milliseconds timeout = gpu_memory_timeout);

private:
  struct shared;

  std::shared_ptr<shared> shared_;
};

} // namespace actorrun::detail
