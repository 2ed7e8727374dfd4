// Owns one agent's bindings to CPUs and its monitors of GPUs.
#pragma once

#include "actors/core/devices/binding.hpp"
#include "actors/log.hpp"
#include "actors/ports/device_monitor.hpp"
#include "messages/result.hpp"
#include "runtime/devices/gpu_memory_watch.hpp"
#include "runtime/devices/gpu_monitor.hpp"
#include "runtime/options.hpp"
#include "runtime/os/reactor.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

class node_devices {
public:
  /// Calls `go` once, on any thread, when the memory that the ended workers
  /// have held is free. In the form of `posix_process_host::start_gate`.
  using start_gate
    = std::function<void(std::vector<pid_t> ended, std::function<void()> go)>;

  /// Decides on the bindings. Loads nothing unless these are asked for; a node
  /// without a GPU driver costs one check for its device.
  /// @retval as `bind_workers`
  static result<node_devices> open(const agent_options& options, log lines);

  /// Null: there is no GPU.
  std::shared_ptr<ports::device_monitor> monitor() const { return monitor_; }

  /// Delays workers until the memory of the last ones is free.
  /// @param loop That of the process host.
  start_gate gate(std::weak_ptr<reactor> loop) const;

  /// By local rank; empty: workers are not bound.
  const std::vector<core::process_binding>& bindings() const {
    return bindings_;
  }

  /// What the workers are bound to, in lines for people.
  std::vector<std::string> report() const;

private:
  node_devices(const agent_options& options, log lines);

  log lines_;
  uint32_t worker_count_;
  std::shared_ptr<gpu_monitor> monitor_{};     ///< Null: no GPU driver.
  std::shared_ptr<gpu_memory_watch> memory_{}; ///< Likewise.
  std::vector<core::process_binding> bindings_{};
  std::vector<std::string> report_{}; ///< Empty: workers are not bound.
};

} // namespace actorrun::detail
