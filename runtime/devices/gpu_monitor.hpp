// Watches the GPUs of this node.
#pragma once

#include "actors/ports/device_monitor.hpp"

#include <cstddef>
#include <memory>

namespace actorrun::detail {

/// Asks the driver through NVML, each time on a detached thread: a driver that
/// hangs costs the answers and the memory of a thread. None of its callbacks
/// runs once it is gone.
class gpu_monitor final : public ports::device_monitor {
public:
  /// At most this many samples wait for an answer of a hanging driver.
  static constexpr size_t samples_max = 64;

  gpu_monitor();
  ~gpu_monitor() override;
  gpu_monitor(const gpu_monitor&) = delete;
  gpu_monitor& operator=(const gpu_monitor&) = delete;

  void watch(listener on_event) override;

  /// Requests during a sample get the same answer; those beyond `samples_max`
  /// get none.
  void sample(listener on_answer) override;

private:
  struct shared;

  std::shared_ptr<shared> shared_;
};

} // namespace actorrun::detail
