// Loads NVIDIA's management library once, for all who ask the driver.
#pragma once

#include "messages/result.hpp"
#include "runtime/devices/nvml_api.hpp"

#include <string>

namespace actorrun::detail {

/// Names another library than the driver's, for tests and unusual places.
inline constexpr const char* nvml_variable = "ACTORRUN_NVML_LIBRARY";
inline constexpr const char* nvml_name = "libnvidia-ml.so.1";

/// Whether it is worth while to load the library: the driver's device is there,
/// or the variable is set. Takes a microsecond.
bool may_have_gpus();

/// Loads and initialises a library.
/// @param name As dlopen(3) takes it.
/// @retval errc::system_failure  there is none, or no driver, or it fails
result<nvml::functions> open_nvml(const std::string& name);

/// Opens the driver's library, the first time that it can be; it then
/// stays so. Creates no context on a GPU. May take seconds, or hang with a
/// driver that hangs: not for threads that others wait for.
/// @retval as `open_nvml`
result<const nvml::functions*> load_nvml();

/// The library's words for one of its codes.
std::string text_of(const nvml::functions& library, int code);

} // namespace actorrun::detail
