// Watches the GPUs of this node, and tells when ended workers hold none of
// their memory any more.
#pragma once

#include "actorrun/actors/ports/device_monitor.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// Longest wait for the memory of ended workers. The kernel frees it before it
/// tells of a death, so this is for what workers have left behind and for a
/// driver that cleans up; one that takes longer has failed, and a restart must
/// not wait for that.
inline constexpr auto gpu_memory_patience = std::chrono::seconds{5};

/// Asks the driver through NVML, each time on a thread of its own that nobody
/// waits for: a driver that hangs costs answers, and the memory of a thread.
/// None of its callbacks runs once it is gone.
class gpu_monitor final : public ports::device_monitor {
public:
  /// Told what is wrong, for people; empty: nothing.
  using freed_handler = std::function<void(std::string complaint)>;

  gpu_monitor();
  ~gpu_monitor() override;
  gpu_monitor(const gpu_monitor&) = delete;
  gpu_monitor& operator=(const gpu_monitor&) = delete;

  void watch(listener on_event) override;

  /// Looks that come while one is under way are answered by the same.
  void sample(listener on_answer) override;

  /// Calls `done` once when no GPU lists a process of `ended` or of their
  /// sessions any more, or after `patience`, or at once if no GPU can be asked.
  /// @param ended Leaders of their sessions; may have been reaped.
  void await_memory(std::vector<pid_t> ended, freed_handler done,
                    std::chrono::milliseconds patience = gpu_memory_patience);

private:
  struct shared;

  std::shared_ptr<shared> shared_;
};

} // namespace actorrun::detail
