// Lists this node's GPUs and their state, as NVML reports them.
#pragma once

#include "actors/core/devices/list.hpp"
#include "actors/core/devices/status.hpp"
#include "messages/result.hpp"
#include "runtime/devices/nvml.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::detail {

// All of these may take long, as `load_nvml` does.

/// A GPU's handle at the driver.
struct gpu_handle {
  uint32_t index = 0; ///< The driver's number.
  nvml::device gpu{}; ///< Good if `code` is.
  int code = nvml::success;
};

/// By ascending number, those from `core::gpus_per_node_max` on left out, and
/// those that this process may not use: a container or a job was given others.
std::vector<gpu_handle> gpu_handles(const nvml::functions& library);

/// Whether a code says that something is wrong with the GPU, and not that this GPU,
/// user or driver cannot tell.
bool is_gpu_trouble(int code);

/// What names each of them has; none for one that does not answer.
std::vector<core::gpu_identity> identify(const nvml::functions& library,
                                         const std::vector<gpu_handle>& gpus);

/// `NVIDIA H200`; empty if it does not answer.
std::string name_of_gpu(const nvml::functions& library, const gpu_handle& x);

/// What NVML shows of every GPU. What it cannot or may not report stays empty;
/// `trouble` of a lost GPU says so.
core::devices_status inspect_gpus(const nvml::functions& library);

/// Processes that hold memory of some GPU, by the ids of this or, in a
/// container, of the host's namespace; each once.
std::vector<int64_t> gpu_processes(const nvml::functions& library);

} // namespace actorrun::detail
