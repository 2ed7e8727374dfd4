// Reads where this node's CPUs and GPUs are, from hwloc and the kernel.
#pragma once

#include "actors/core/devices/binding_plan.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Its name with the version that we were built for.
inline constexpr const char* hwloc_library = "libhwloc.so.15";

/// The CPUs that this process may use, by ascending number. Loads hwloc, which
/// takes some milliseconds: only called for bindings.
///
/// @param synthetic A machine in hwloc's language, `pack:2 core:4 pu:2`, in
///                  place of this one; empty: this one.
/// @retval errc::system_failure  hwloc cannot be loaded or fails
result<std::vector<core::cpu_place>>
read_topology(const std::string& synthetic = {},
              const std::string& library = hwloc_library);

/// The NUMA node that a device is nearest to; 0 where the kernel knows none.
/// @param pci_address As sysfs writes it: `0000:65:00.0`.
/// @param devices     Folder of the PCI devices.
/// @returns none if there is no such device
std::optional<uint32_t> numa_node_of(const std::string& pci_address,
                                     const std::string& devices
                                     = "/sys/bus/pci/devices");

} // namespace actorrun::detail
