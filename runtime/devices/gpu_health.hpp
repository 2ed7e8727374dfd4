// Reads from NVML whether the GPUs of this node are healthy.
#pragma once

#include "actors/core/devices/gpu_reading.hpp"
#include "messages/result.hpp"
#include "runtime/devices/nvml.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::detail {

/// A GPU that processes here may use, or an instance of it.
struct checked_gpu {
  uint32_t index = 0;        ///< The driver's number.
  std::string name{};        ///< `NVIDIA H200`; empty if it does not answer.
  std::string pci_address{}; ///< As sysfs writes it; empty likewise.
  core::gpu_reading reading{};
};

/// The GPUs that CUDA_VISIBLE_DEVICES of this process leaves, each once; all without
/// the variable. Makes no context on a GPU. May hang with a driver that hangs.
/// @returns at least one
/// @retval errc::system_failure  there is none, the variable names one that is not
///         there, or the driver cannot be asked
result<std::vector<checked_gpu>> read_visible_gpus();

/// The link that a GPU has now; as far as the driver says it.
core::pcie_link link_of(const nvml::functions& library,
                        const std::string& pci_address);

} // namespace actorrun::detail
