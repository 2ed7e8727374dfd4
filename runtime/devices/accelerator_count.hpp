// Counts devices that NVML does not: through drivers that would leave something
// behind in this program, so in a process that ends afterwards.
#pragma once

#include "messages/result.hpp"

#include <chrono>
#include <cstdint>

namespace actorrun::detail {

/// Longest wait for a driver; one that is not loaded yet takes seconds.
inline constexpr auto accelerator_timeout = std::chrono::seconds{30};

// Both fork: call them before there are other threads.

/// CUDA's devices, of which CUDA_VISIBLE_DEVICES has been obeyed: for machines
/// whose driver brings no NVML. ACTORRUN_CUDA_LIBRARY names another library.
/// @returns 1 or more
/// @retval errc::system_failure  there are none; the text says why
result<uint32_t> count_cuda_devices(std::chrono::milliseconds timeout
                                    = accelerator_timeout);

/// The GPUs of Level Zero, of which ZE_AFFINITY_MASK has been obeyed.
/// ACTORRUN_ZE_LIBRARY names another library than the loader.
/// @returns 1 or more
/// @retval errc::system_failure  there are none; the text says why
result<uint32_t> count_xpu_devices(std::chrono::milliseconds timeout
                                   = accelerator_timeout);

} // namespace actorrun::detail
