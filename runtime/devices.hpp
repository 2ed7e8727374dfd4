// Lists and counts the GPUs of this node.
#pragma once

#include "actors/core/devices/list.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace actorrun {

/// The GPUs that this process may use, as NVML reports them, in the order in
/// which CUDA numbers them from 0. The list is empty on a node without any. May
/// take seconds while the driver loads.
/// @retval errc::system_failure  the driver cannot be asked, or a GPU is lost
result<std::vector<core::gpu_identity>> list_gpus();

/// Longest wait for a driver; one that is not loaded yet takes seconds.
inline constexpr auto accelerator_timeout = std::chrono::seconds{30};

// Both of the following fork, because their drivers would leave threads and
// handlers behind in this program: call them before there are other threads.

/// Counts CUDA's devices, as far as CUDA_VISIBLE_DEVICES shows them: for
/// machines whose driver has no NVML. ACTORRUN_CUDA_LIBRARY names another
/// library.
/// @returns 1 or more
/// @retval errc::system_failure  there are none; the text says why
result<uint32_t> count_cuda_devices(std::chrono::milliseconds timeout
                                    = accelerator_timeout);

/// Counts the GPUs of Level Zero, as far as ZE_AFFINITY_MASK shows them.
/// ACTORRUN_ZE_LIBRARY names another library than the loader.
/// @returns 1 or more
/// @retval errc::system_failure  there are none; the text says why
result<uint32_t> count_xpu_devices(std::chrono::milliseconds timeout
                                   = accelerator_timeout);

} // namespace actorrun
