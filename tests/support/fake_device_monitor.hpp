// A device monitor that reports what a test decides.
#pragma once

#include "actors/ports/device_monitor.hpp"

#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

class fake_device_monitor final : public ports::device_monitor {
public:
  void watch(listener on_event) override { watcher = std::move(on_event); }

  void sample(listener on_answer) override {
    asked.push_back(std::move(on_answer));
  }

  /// Answers all pending requests.
  void answer(const core::devices_status& now) {
    for (const auto& x : std::exchange(asked, {}))
      x(now, {});
  }

  listener watcher{};
  std::vector<listener> asked{};
};

/// A node with one GPU.
inline core::devices_status one_gpu(uint64_t used,
                                    const std::string& trouble = {}) {
  return {.gpus = {{.index = 0,
                    .name = "N",
                    .uuid = "GPU-a",
                    .memory_used = used,
                    .memory_total = 9,
                    .utilisation = 50,
                    .trouble = trouble}}};
}

} // namespace actorrun::test
