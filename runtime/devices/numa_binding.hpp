// Decides what the workers of this node are bound to, from the machine's
// topology and its GPUs.
#pragma once

#include "actors/core/devices/binding.hpp"
#include "actors/core/devices/binding_plan.hpp"
#include "actors/core/devices/list.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace actorrun::detail {

/// What to bind, and how to query the machine.
struct binding_order {
  core::binding_mode mode = core::binding_mode::none;
  uint32_t worker_count = 1;
  /// CUDA_VISIBLE_DEVICES of the workers; none: not set.
  std::optional<std::string> visible_devices{};
  /// The GPUs of this node; fails where there are none.
  std::function<result<std::vector<core::gpu_identity>>()> gpus{};
  std::function<result<std::vector<core::cpu_place>>()> topology{};
  /// Of a GPU by its PCI address.
  std::function<std::optional<uint32_t>(const std::string&)> numa_node{};
  /// See `check_memory_policy`.
  std::function<int(const core::process_binding&)> check_memory{};
};

/// The order for this machine.
binding_order order_for_this_machine(core::binding_mode mode,
                                     uint32_t worker_count);

struct worker_bindings {
  /// By local rank; empty: no worker is bound.
  std::vector<core::process_binding> by_rank{};
  /// For people: one line for each worker, or one for all if none is bound.
  std::vector<std::string> report{};
  /// What could not be done as ordered, one line each.
  std::vector<std::string> warnings{};
};

/// A worker is bound near its GPU: the visible one at its local rank, again from
/// the first if there are more workers. Without GPUs the NUMA nodes take turns.
/// @retval errc::bad_argument    the CPUs do not suffice; see `binding_plan`
/// @retval errc::system_failure  the machine's topology cannot be read
/// @see torch/numa/binding.py does so with GPUs, and refuses without.
result<worker_bindings> bind_workers(const binding_order& order);

} // namespace actorrun::detail
