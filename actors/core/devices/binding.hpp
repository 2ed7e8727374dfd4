// Describes where a process may run and take memory from.
#pragma once

#include <cstdint>
#include <vector>

namespace actorrun::core {

/// How the CPUs of a node are shared out among its workers; see
/// `binding_plan`.
enum class binding_mode : uint8_t {
  none,         ///< Every worker has what the agent has.
  node,         ///< The CPUs of one NUMA node.
  socket,       ///< The CPUs of one processor package.
  exclusive,    ///< Whole cores of one NUMA node that no other worker has.
  core_complex, ///< The CPUs of one NUMA node that share a last-level cache.
};

/// What a process is bound to from its birth on.
struct process_binding {
  /// The system's numbers of CPUs, ascending; empty: all that are inherited.
  std::vector<uint32_t> cpus{};
  /// NUMA nodes that memory is preferably taken from, ascending; empty: from
  /// where the system thinks best.
  std::vector<uint32_t> memory_nodes{};

  friend bool operator==(const process_binding&, const process_binding&)
    = default;
};

} // namespace actorrun::core
