// Binds the calling thread to CPUs and memory, as a new worker does.
#pragma once

#include "actors/core/devices/binding.hpp"

#include <vector>

namespace actorrun::detail {

/// A binding in the form that the kernel takes, made before its process starts.
class cpu_binding {
public:
  /// At most this many CPUs and NUMA nodes; Linux supports no more.
  static constexpr uint32_t cpus_max = 1 << 16;
  static constexpr uint32_t nodes_max = 1 << 10;

  cpu_binding() = default;

  /// Ignores numbers from `cpus_max` or `nodes_max` on, which no CPU or node
  /// can have.
  explicit cpu_binding(const core::process_binding& x);

  /// Binds this thread, and with it what it executes. Async-signal-safe.
  /// @returns 0 or an errno; EINVAL: none of the CPUs may be used
  int apply() const noexcept;

private:
  using mask = std::vector<unsigned long>;

  mask cpus_{};  ///< Empty: as inherited.
  mask nodes_{}; ///< Likewise.
  bool has_many_nodes_ = false;
};

/// Checks whether this program may set the memory policy of `x`. Containers
/// often forbid it.
/// @returns 0 or an errno: ENOSYS, EPERM, or EINVAL for a kernel before 5.15 and
///          several NUMA nodes
int check_memory_policy(const core::process_binding& x);

} // namespace actorrun::detail
