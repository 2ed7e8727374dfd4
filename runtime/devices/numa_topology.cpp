#include "runtime/devices/numa_topology.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/shared_library.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include <hwloc.h>
#include <sched.h>

namespace actorrun::detail {

namespace {

/// Linux has no more CPUs than this, and cpu_set_t only 1,024.
constexpr int cpu_max = 1 << 16;

/// What we use of hwloc.
struct hwloc_api {
  decltype(&::hwloc_get_api_version) api_version = nullptr;
  decltype(&::hwloc_topology_init) init = nullptr;
  decltype(&::hwloc_topology_set_synthetic) set_synthetic = nullptr;
  decltype(&::hwloc_topology_load) load = nullptr;
  decltype(&::hwloc_topology_destroy) destroy = nullptr;
  decltype(&::hwloc_get_type_depth) type_depth = nullptr;
  decltype(&::hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&::hwloc_get_obj_by_depth) object = nullptr;
  decltype(&::hwloc_obj_type_is_cache) is_cache = nullptr;
  decltype(&::hwloc_bitmap_isset) has = nullptr;
  decltype(&::hwloc_bitmap_weight) weight = nullptr;
};

result<hwloc_api> load_hwloc(const std::string& name) {
  const auto library = shared_library::load(name);
  if (!library)
    return system_failure(
      formatted("hwloc cannot be loaded: {}; install it (Debian: libhwloc15)",
                library.error().text));
  auto x = hwloc_api{};
  const auto is_whole
    = library->find("hwloc_get_api_version", x.api_version)
      && library->find("hwloc_topology_init", x.init)
      && library->find("hwloc_topology_set_synthetic", x.set_synthetic)
      && library->find("hwloc_topology_load", x.load)
      && library->find("hwloc_topology_destroy", x.destroy)
      && library->find("hwloc_get_type_depth", x.type_depth)
      && library->find("hwloc_get_nbobjs_by_depth", x.count)
      && library->find("hwloc_get_obj_by_depth", x.object)
      && library->find("hwloc_obj_type_is_cache", x.is_cache)
      && library->find("hwloc_bitmap_isset", x.has)
      && library->find("hwloc_bitmap_weight", x.weight);
  if (!is_whole || x.api_version() >> 16 != HWLOC_API_VERSION >> 16)
    return system_failure(name
                          + " is another hwloc than the one we were built for");
  return x;
}

/// The number of the ancestor of that type; `otherwise` if there is none.
uint32_t ancestor(hwloc_obj_t from, hwloc_obj_type_t type, uint32_t otherwise) {
  for (auto x = from; x != nullptr; x = x->parent)
    if (x->type == type)
      return x->logical_index;
  return otherwise;
}

/// Of the caches that a CPU uses the last one before memory. Their numbers count
/// within a level, and a CPU may have none of the level that others have.
uint32_t last_cache(const hwloc_api& hwloc, hwloc_obj_t from,
                    uint32_t otherwise) {
  constexpr uint32_t numbers_per_level = cpu_max;
  auto out = std::optional<uint32_t>{};
  for (auto x = from; x != nullptr; x = x->parent)
    if (hwloc.is_cache(x->type))
      out
        = static_cast<uint32_t>(x->type) * numbers_per_level + x->logical_index;
  return out.value_or(otherwise);
}

/// NUMA nodes with the CPUs that are near them, the nearest first: memory without
/// CPUs of its own is near to many, and may bear any number.
class memory_map {
public:
  memory_map(const hwloc_api& hwloc, hwloc_topology_t topology)
    : hwloc_(hwloc) {
    const auto depth = hwloc.type_depth(topology, HWLOC_OBJ_NUMANODE);
    for (unsigned i = 0; i < hwloc.count(topology, depth); ++i)
      nodes_.push_back(hwloc.object(topology, depth, i));
    const auto nearness = [&hwloc](hwloc_obj_t x) {
      return std::pair{hwloc.weight(x->cpuset), x->os_index};
    };
    std::sort(nodes_.begin(), nodes_.end(),
              [&](auto a, auto b) { return nearness(a) < nearness(b); });
  }

  /// The number of the node that a CPU is nearest to; 0 if it has none.
  uint32_t node_of(uint32_t cpu) const {
    for (const auto x : nodes_)
      if (hwloc_.has(x->cpuset, cpu))
        return x->os_index;
    return 0;
  }

private:
  const hwloc_api& hwloc_;
  std::vector<hwloc_obj_t> nodes_{};
};

std::vector<core::cpu_place> places_in(const hwloc_api& hwloc,
                                       hwloc_topology_t topology) {
  auto out = std::vector<core::cpu_place>{};
  const auto depth = hwloc.type_depth(topology, HWLOC_OBJ_PU);
  const auto count = hwloc.count(topology, depth);
  const auto memory = memory_map{hwloc, topology};
  for (unsigned i = 0; i < count; ++i) {
    const auto cpu = hwloc.object(topology, depth, i);
    const auto package = ancestor(cpu, HWLOC_OBJ_PACKAGE, 0);
    out.push_back({.cpu = cpu->os_index,
                   .core = ancestor(cpu, HWLOC_OBJ_CORE, cpu->logical_index),
                   .cache = last_cache(hwloc, cpu, package),
                   .node = memory.node_of(cpu->os_index),
                   .package = package});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  return out;
}

struct free_cpu_set {
  void operator()(cpu_set_t* x) const { CPU_FREE(x); }
};

// hwloc leaves out what a cgroup forbids, and not what taskset(1) does.
void keep_own(std::vector<core::cpu_place>& cpus) {
  const auto size = CPU_ALLOC_SIZE(cpu_max);
  const auto own = std::unique_ptr<cpu_set_t, free_cpu_set>{CPU_ALLOC(cpu_max)};
  if (!own || ::sched_getaffinity(0, size, own.get()) != 0)
    return;
  std::erase_if(
    cpus, [&](const auto& x) { return !CPU_ISSET_S(x.cpu, size, own.get()); });
}

} // namespace

result<std::vector<core::cpu_place>> read_topology(const std::string& synthetic,
                                                   const std::string& library) {
  const auto hwloc = load_hwloc(library);
  if (!hwloc)
    return hwloc.error();
  auto made = hwloc_topology_t{};
  if (hwloc->init(&made) != 0)
    return system_failure("hwloc cannot be initialised");
  using owner = std::unique_ptr<hwloc_topology, decltype(hwloc->destroy)>;
  const auto topology = owner{made, hwloc->destroy};
  if (!synthetic.empty() && hwloc->set_synthetic(made, synthetic.c_str()) != 0)
    return system_failure(
      formatted("hwloc does not know the machine \"{}\"", synthetic));
  if (hwloc->load(made) != 0)
    return system_failure("hwloc cannot read how this machine is built");
  auto cpus = places_in(*hwloc, made);
  if (synthetic.empty())
    keep_own(cpus);
  if (cpus.empty())
    return system_failure("hwloc finds no CPU that may be used");
  return cpus;
}

std::optional<uint32_t> numa_node_of(const std::string& pci_address,
                                     const std::string& devices) {
  auto text = std::istringstream{
    read_kernel_file(devices + "/" + pci_address + "/numa_node")};
  auto node = int64_t{0};
  if (!(text >> node))
    return std::nullopt;
  return static_cast<uint32_t>(std::max<int64_t>(node, 0));
}

} // namespace actorrun::detail
