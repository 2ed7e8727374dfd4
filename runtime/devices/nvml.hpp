// Loads NVIDIA's management library (NVML), and declares the part of its binary
// interface that we call: no package has its header to build with. Where there
// is a header, nvml_test.cpp compares.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/shared_library.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace actorrun::detail::nvml {

using device = struct device_tag*;
using event_set = struct event_set_tag*;

/// Return codes.
enum code : int {
  success = 0,
  not_supported = 3,
  no_permission = 4, ///< Of a GPU: it is not for this container or job.
  timeout = 10,
  function_not_found = 13,
};

struct memory {
  unsigned long long total, free, used; ///< Bytes.
};

struct utilization {
  unsigned gpu, memory; ///< Per cent.
};

struct pci_info {
  char old_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

/// As version 2 of the call for running processes has it; see `processes`.
struct process_info {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct event_data {
  device where;
  unsigned long long type;
  unsigned long long data; ///< The XID.
  unsigned gpu_instance, compute_instance;
};

/// Whether a struct has the size that a driver of 64 bits writes.
template <class Struct, size_t Size>
inline constexpr bool has_size = sizeof(void*) != 8 || sizeof(Struct) == Size;

static_assert(has_size<memory, 24>);
static_assert(has_size<utilization, 8>);
static_assert(has_size<pci_info, 68>);
static_assert(has_size<process_info, 24>);
static_assert(has_size<event_data, 32>);

inline constexpr unsigned long long xid_event = 8;
inline constexpr unsigned core_temperature = 0; ///< The sensor on the chip.
inline constexpr size_t text_size_max = 96;     ///< Of names and UUIDs.

/// The functions; nvml_library.cpp has their names. All may be called from any
/// thread.
struct functions {
  int (*init)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_at)(unsigned, device*) = nullptr;
  int (*uuid)(device, char*, unsigned) = nullptr;
  int (*name)(device, char*, unsigned) = nullptr;
  int (*pci)(device, pci_info*) = nullptr;
  int (*memory_info)(device, memory*) = nullptr;
  int (*utilization_rates)(device, utilization*) = nullptr;
  int (*temperature)(device, unsigned sensor, unsigned*) = nullptr;
  // Null where the driver is older than these.
  int (*processes)(device, unsigned* count, process_info*) = nullptr;
  int (*retired_pages_pending)(device, unsigned*) = nullptr;
  int (*remapped_rows)(device, unsigned* corrected, unsigned* uncorrected,
                       unsigned* is_pending, unsigned* has_failed)
    = nullptr;
  int (*ecc_errors)(device, unsigned kind, unsigned counter,
                    unsigned long long*)
    = nullptr;
  int (*link_width)(device, unsigned*) = nullptr;
  int (*link_width_max)(device, unsigned*) = nullptr;
  int (*link_generation)(device, unsigned*) = nullptr;
  int (*link_generation_max)(device, unsigned*) = nullptr;
  int (*mig_mode)(device, unsigned* current, unsigned* pending) = nullptr;
  int (*mig_count_max)(device, unsigned*) = nullptr;
  int (*mig_device_at)(device, unsigned, device*) = nullptr;
  int (*event_set_create)(event_set*) = nullptr;
  int (*event_register)(device, unsigned long long types, event_set) = nullptr;
  int (*event_wait)(event_set, event_data*, unsigned timeout_ms) = nullptr;
  int (*event_set_free)(event_set) = nullptr;
};

} // namespace actorrun::detail::nvml

namespace actorrun::detail {

/// Names another library than the driver's, for tests and unusual places.
inline constexpr const char* nvml_variable = "ACTORRUN_NVML_LIBRARY";
inline constexpr const char* nvml_name = "libnvidia-ml.so.1";

/// Whether to load the library: the driver's device exists or the variable is
/// set. Takes a microsecond.
bool may_have_gpus();

/// Loads and initialises a library.
/// @param name As dlopen(3) takes it.
/// @retval errc::system_failure  there is none, or no driver, or it fails
result<nvml::functions> open_nvml(const std::string& name);

/// Opens the driver's library, the first time that it can be; it then stays so.
/// Creates no context on a GPU. May take seconds, or hang with a driver that
/// hangs: do not call it on threads that others wait for.
/// @retval as `open_nvml`
result<const nvml::functions*> load_nvml();

/// The library's text for one of its codes.
std::string text_of(const nvml::functions& library, int code);

} // namespace actorrun::detail
