// Shares out the CPUs of a node among its workers.
#pragma once

#include "actors/core/devices/binding.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace actorrun::core {

/// Where one CPU is. CPU and NUMA node have the system's numbers, the others
/// any that are unique on the machine.
struct cpu_place {
  uint32_t cpu = 0;   ///< A hardware thread.
  uint32_t core = 0;  ///< The physical core it is of.
  uint32_t cache = 0; ///< The last-level cache it uses.
  uint32_t node = 0;  ///< The NUMA node it is nearest to.
  uint32_t package = 0;

  friend bool operator==(const cpu_place&, const cpu_place&) = default;
};

/// The NUMA node of each worker: that of its GPU, or else the nodes in turn.
///
/// @param cpus   Those that may be used, in any order.
/// @param wished By local rank: the node that its GPU is nearest to; none: it
///               has no GPU. N values.
/// @returns N NUMA nodes, by local rank
/// @retval errc::bad_argument  no CPU of a wished node may be used, or no CPU
///         at all
result<std::vector<uint32_t>>
choose_numa_nodes(std::span<const cpu_place> cpus,
                  std::span<const std::optional<uint32_t>> wished);

/// What the workers are bound to.
///
/// `node`, `socket`: workers of a NUMA node or package share its CPUs.
/// `exclusive`: its cores are divided among them, the first ones get one more
/// where that does not come out even; a core's threads stay together.
/// `core_complex`: each gets the CPUs of one last-level cache, the largest
/// first, and again from the first when there are more workers.
///
/// @param cpus  Those that may be used, in any order.
/// @param nodes By local rank; each has at least one CPU.
/// @returns as many bindings as `nodes`. Memory is preferably taken from the
///          same NUMA nodes if there are several in `cpus`; with `none` all are
///          empty.
/// @retval errc::bad_argument  `exclusive`, and a NUMA node has fewer cores than
///         workers
result<std::vector<process_binding>>
plan_bindings(binding_mode mode, std::span<const cpu_place> cpus,
              std::span<const uint32_t> nodes);

/// `CPUs 0-3,8 of NUMA node 0, memory of NUMA node 0 preferred`, for people.
std::string to_string(const process_binding& x,
                      std::span<const cpu_place> cpus);

} // namespace actorrun::core
