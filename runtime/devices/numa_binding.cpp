#include "runtime/devices/numa_binding.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/devices.hpp"
#include "runtime/devices/numa_topology.hpp"
#include "runtime/os/cpu_binding.hpp"

#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

/// The GPU of each worker, by local rank.
struct worker_gpu {
  std::string name{}; ///< Empty: it has none.
  std::string pci_address{};
  std::optional<uint32_t> node{};
};

std::vector<worker_gpu> gpus_of_workers(const binding_order& order,
                                        std::vector<std::string>& warnings) {
  auto out = std::vector<worker_gpu>(order.worker_count);
  const auto gpus = order.gpus();
  if (!gpus) {
    warnings.push_back("workers are bound without regard to GPUs: "
                       + gpus.error().text);
    return out;
  }
  const auto visible = core::find_visible(order.visible_devices, *gpus).listed;
  if (visible.empty())
    return out;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto& x = visible[i % visible.size()];
    const auto& address = gpus->at(x.gpu).pci_address;
    out[i] = {x.name, address, order.numa_node(address)};
  }
  return out;
}

std::vector<std::optional<uint32_t>>
wishes_of(const std::vector<worker_gpu>& gpus) {
  auto out = std::vector<std::optional<uint32_t>>{};
  for (const auto& x : gpus)
    out.push_back(x.node);
  return out;
}

/// Drops the binding to memory if the memory policy may not be set.
void settle_memory(const binding_order& order,
                   std::vector<core::process_binding>& bindings,
                   std::vector<std::string>& warnings) {
  auto why = 0;
  auto checked = std::set<std::vector<uint32_t>>{};
  for (const auto& x : bindings)
    if (why == 0 && !x.memory_nodes.empty()
        && checked.insert(x.memory_nodes).second)
      why = order.check_memory(x);
  if (why == 0)
    return;
  for (auto& x : bindings)
    x.memory_nodes.clear();
  warnings.push_back(
    formatted("workers are bound to CPUs, and not to memory: the kernel or the "
              "container does not let us set a memory policy ({})",
              core::error_text(why)));
}

/// `GPU 0 (0000:19:00.0)`; a UUID says itself what it names.
std::string to_string(const worker_gpu& x) {
  constexpr auto digits = std::string_view{"0123456789"};
  const auto is_number = x.name.find_first_not_of(digits) == x.name.npos;
  return (is_number ? "GPU " : "") + x.name
         + (x.pci_address.empty() ? "" : " (" + x.pci_address + ")");
}

std::string line_of(uint32_t local_rank, const core::process_binding& binding,
                    const worker_gpu& gpu,
                    std::span<const core::cpu_place> cpus) {
  auto out = formatted("local rank {}: {}", local_rank,
                       core::to_string(binding, cpus));
  if (!gpu.name.empty())
    out += ", " + to_string(gpu);
  return out;
}

worker_bindings bind_none(const binding_order& order) {
  auto out = worker_bindings{};
  const auto cpus = order.topology();
  auto own = std::vector<uint32_t>{};
  if (cpus)
    for (const auto& x : *cpus)
      own.push_back(x.cpu);
  out.report.push_back(
    "workers are not bound"
    + (own.empty() ? ""
                   : "; they have the agent's CPUs " + core::to_ranges(own)));
  return out;
}

} // namespace

binding_order order_for_this_machine(core::binding_mode mode,
                                     uint32_t worker_count) {
  auto out = binding_order{.mode = mode, .worker_count = worker_count};
  if (const auto* list = std::getenv("CUDA_VISIBLE_DEVICES"))
    out.visible_devices = list;
  out.gpus = list_gpus;
  out.topology = [] { return read_topology(); };
  out.numa_node = [](const std::string& x) { return numa_node_of(x); };
  out.check_memory = check_memory_policy;
  return out;
}

result<worker_bindings> bind_workers(const binding_order& order) {
  if (order.mode == core::binding_mode::none)
    return bind_none(order);
  const auto cpus = order.topology();
  if (!cpus)
    return cpus.error();
  auto out = worker_bindings{};
  const auto gpus = gpus_of_workers(order, out.warnings);
  const auto nodes = core::choose_numa_nodes(*cpus, wishes_of(gpus));
  if (!nodes)
    return nodes.error();
  auto bindings = core::plan_bindings(order.mode, *cpus, *nodes);
  if (!bindings)
    return bindings.error();
  settle_memory(order, *bindings, out.warnings);
  out.by_rank = std::move(*bindings);
  for (uint32_t i = 0; i < order.worker_count; ++i)
    out.report.push_back(line_of(i, out.by_rank[i], gpus[i], *cpus));
  return out;
}

} // namespace actorrun::detail
