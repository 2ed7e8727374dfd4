#include "runtime/devices/nvml.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/thread.hpp"

#include <cstdlib>
#include <mutex>

#include <unistd.h>

namespace actorrun::detail {

namespace {

/// What the driver makes when it is loaded; WSL has the second instead.
constexpr const char* driver_files[] = {"/dev/nvidiactl", "/dev/dxg"};

const char* library_name() {
  const auto* name = std::getenv(nvml_variable);
  return name != nullptr && *name != '\0' ? name : nvml_name;
}

// In drivers 535.43 to 535.86 entries of the third version are longer than before
// and after. Who has the call for details, which took the longer entries over,
// has the short ones again; all others have the second version, from 470 on.
void find_processes(const shared_library& from, nvml::functions& out) {
  if (!from.has("nvmlDeviceGetRunningProcessDetailList")
      || !from.find("nvmlDeviceGetComputeRunningProcesses_v3", out.processes))
    from.find("nvmlDeviceGetComputeRunningProcesses_v2", out.processes);
}

void find_health(const shared_library& from, nvml::functions& out) {
  from.find("nvmlDeviceGetRetiredPagesPendingStatus",
            out.retired_pages_pending);
  from.find("nvmlDeviceGetRemappedRows", out.remapped_rows);
  from.find("nvmlDeviceGetTotalEccErrors", out.ecc_errors);
  from.find("nvmlDeviceGetCurrPcieLinkWidth", out.link_width);
  from.find("nvmlDeviceGetMaxPcieLinkWidth", out.link_width_max);
  from.find("nvmlDeviceGetCurrPcieLinkGeneration", out.link_generation);
  from.find("nvmlDeviceGetMaxPcieLinkGeneration", out.link_generation_max);
}

bool find_all(const shared_library& from, nvml::functions& out) {
  find_health(from, out);
  from.find("nvmlDeviceGetMigMode", out.mig_mode);
  from.find("nvmlDeviceGetMaxMigDeviceCount", out.mig_count_max);
  from.find("nvmlDeviceGetMigDeviceHandleByIndex", out.mig_device_at);
  from.find("nvmlEventSetCreate", out.event_set_create);
  from.find("nvmlDeviceRegisterEvents", out.event_register);
  from.find("nvmlEventSetWait_v2", out.event_wait);
  from.find("nvmlEventSetFree", out.event_set_free);
  find_processes(from, out);
  return from.find("nvmlInit_v2", out.init)
         && from.find("nvmlErrorString", out.error_string)
         && from.find("nvmlDeviceGetCount_v2", out.device_count)
         && from.find("nvmlDeviceGetHandleByIndex_v2", out.device_at)
         && from.find("nvmlDeviceGetUUID", out.uuid)
         && from.find("nvmlDeviceGetName", out.name)
         && from.find("nvmlDeviceGetPciInfo_v3", out.pci)
         && from.find("nvmlDeviceGetMemoryInfo", out.memory_info)
         && from.find("nvmlDeviceGetUtilizationRates", out.utilization_rates)
         && from.find("nvmlDeviceGetTemperature", out.temperature);
}

} // namespace

result<nvml::functions> open_nvml(const std::string& name) {
  const auto block = signals_blocked{}; // It may start threads.
  const auto library = shared_library::load(name);
  if (!library)
    return system_failure("the NVIDIA driver's library cannot be loaded: "
                          + library.error().text);
  auto out = nvml::functions{};
  if (!find_all(*library, out))
    return system_failure(formatted(
      "{} is too old or no NVML; actorrun needs a driver from 450 on", name));
  if (const auto code = out.init(); code != nvml::success)
    return system_failure("the NVIDIA driver does not answer: "
                          + text_of(out, code));
  return out;
}

bool may_have_gpus() {
  if (const auto* name = std::getenv(nvml_variable);
      name != nullptr && *name != '\0')
    return true;
  for (const auto* path : driver_files)
    if (::access(path, F_OK) == 0)
      return true;
  return false;
}

// What has failed is tried again: the driver may be loaded by then.
result<const nvml::functions*> load_nvml() {
  static std::mutex mutex;
  static nvml::functions loaded;
  static bool is_loaded = false;
  const auto guard = std::lock_guard{mutex};
  if (!is_loaded) {
    const auto x = open_nvml(library_name());
    if (!x)
      return x.error();
    loaded = *x;
    is_loaded = true;
  }
  return &loaded;
}

std::string text_of(const nvml::functions& library, int code) {
  const auto* text = library.error_string(code);
  return text != nullptr ? text : formatted("code {}", code);
}

} // namespace actorrun::detail
