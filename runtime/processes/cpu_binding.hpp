// Binds the calling thread to CPUs and memory: what a worker does at its birth.
#pragma once

#include "actors/core/devices/binding.hpp"

#include <vector>

namespace actorrun::detail {

/// A binding in the form in which the kernel takes it, made before the process
/// that it is for.
class cpu_binding {
public:
  /// Most CPUs and NUMA nodes there can be; Linux has no more.
  static constexpr uint32_t cpus_max = 1 << 16;
  static constexpr uint32_t nodes_max = 1 << 10;

  cpu_binding() = default;

  /// Numbers from `cpus_max` or `nodes_max` on are left out: there is nothing
  /// that could bear them.
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

/// Whether this program may say where memory is preferably taken from, as `x`
/// says. Containers often forbid it.
/// @returns 0 or an errno: ENOSYS, EPERM, or EINVAL for a kernel before 5.15 and
///          several NUMA nodes
int check_memory_policy(const core::process_binding& x);

} // namespace actorrun::detail
