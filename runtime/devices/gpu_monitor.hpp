// Watches the GPUs of this node.
#pragma once

#include "actors/ports/device_monitor.hpp"

#include <cstddef>
#include <memory>

namespace actorrun::detail {

/// Asks the driver through NVML, each time on a thread of its own that nobody
/// waits for: a driver that hangs costs answers, and the memory of a thread.
/// None of its callbacks runs once it is gone.
class gpu_monitor final : public ports::device_monitor {
public:
  /// Most looks that are owed an answer: with a driver that hangs they gather.
  static constexpr size_t samples_max = 64;

  gpu_monitor();
  ~gpu_monitor() override;
  gpu_monitor(const gpu_monitor&) = delete;
  gpu_monitor& operator=(const gpu_monitor&) = delete;

  void watch(listener on_event) override;

  /// Looks that come while one is under way are answered by the same, those
  /// beyond `samples_max` never.
  void sample(listener on_answer) override;

private:
  struct shared;

  std::shared_ptr<shared> shared_;
};

} // namespace actorrun::detail
