#include "runtime/devices/node_devices.hpp"

#include "runtime/devices/numa_binding.hpp"
#include "runtime/devices/nvml.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

std::string joined(const std::vector<std::string>& names) {
  auto out = std::string{};
  for (const auto& x : names)
    out += (out.empty() ? "" : ",") + x;
  return out;
}

result<worker_bindings> bindings_for(const agent_options& options) {
  auto order
    = order_for_this_machine(options.binding, options.workers.slot_count);
  if (!options.visible_devices.empty())
    order.visible_devices = joined(options.visible_devices);
  auto bound = bind_workers(order);
  if (!bound)
    return failure{bound.error().code,
                   "the workers cannot be bound: " + bound.error().text};
  return bound;
}

} // namespace

node_devices::node_devices(const agent_options& options, log lines)
  : lines_(std::move(lines)), worker_count_(options.workers.slot_count) {}

result<node_devices> node_devices::open(const agent_options& options,
                                        log lines) {
  auto out = node_devices{options, std::move(lines)};
  if (may_have_gpus()) {
    out.monitor_ = std::make_shared<gpu_monitor>();
    out.memory_ = std::make_shared<gpu_memory_watch>();
  }
  if (options.binding == core::binding_mode::none)
    return out;
  auto bound = bindings_for(options);
  if (!bound)
    return bound.error();
  for (const auto& x : bound->warnings)
    out.lines_.warn(x);
  out.bindings_ = std::move(bound->by_rank);
  out.report_ = std::move(bound->report);
  return out;
}

// The reactor may be gone when the driver answers.
node_devices::start_gate node_devices::gate(std::weak_ptr<reactor> loop) const {
  if (!memory_)
    return nullptr;
  return [memory = memory_, loop = std::move(loop),
          lines = lines_](std::vector<pid_t> ended, std::function<void()> go) {
    memory->await(std::move(ended), [loop, lines, go = std::move(go)](
                                      const std::string& complaint) {
      const auto alive = loop.lock();
      if (!alive)
        return;
      if (!complaint.empty())
        lines.warn(complaint);
      go();
    });
  };
}

std::vector<std::string> node_devices::report() const {
  if (!report_.empty())
    return report_;
  auto unbound = bind_workers(
    order_for_this_machine(core::binding_mode::none, worker_count_));
  return std::move(unbound->report);
}

} // namespace actorrun::detail
