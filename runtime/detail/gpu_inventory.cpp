#include "actorrun/runtime/detail/gpu_inventory.hpp"

#include "actorrun/runtime/detail/nvml_library.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <set>

namespace actorrun::detail {

namespace {

using nvml::device;
using nvml::functions;

/// Instances of one GPU; seven are possible today.
constexpr unsigned instances_max = 64;

/// Processes on one GPU that are looked at.
constexpr unsigned processes_max = 4'096;

unsigned count_of(const functions& library) {
  auto count = 0u;
  if (library.device_count(&count) != nvml::success)
    return 0;
  return std::min(count, static_cast<unsigned>(core::gpus_per_node_max));
}

/// What a function that writes a text into a buffer says; empty if it fails.
template <class Function>
std::string text_from(Function read, device x) {
  auto text = std::array<char, nvml::text_size_max>{};
  if (read(x, text.data(), static_cast<unsigned>(text.size())) != nvml::success)
    return {};
  return {text.data(), ::strnlen(text.data(), text.size())};
}

/// NVML writes `00000000:65:00.0`, sysfs `0000:65:00.0`, in small letters.
std::string pci_address_of(const functions& library, device x) {
  constexpr size_t digits_too_many = 4;
  constexpr size_t long_domain = 8;
  auto info = nvml::pci_info{};
  if (library.pci(x, &info) != nvml::success)
    return {};
  auto out
    = std::string{info.bus_id, ::strnlen(info.bus_id, sizeof info.bus_id)};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (out.find(':') == long_domain && out.starts_with("0000"))
    out.erase(0, digits_too_many);
  return out;
}

bool is_partitioned(const functions& library, device x) {
  auto current = 0u;
  auto pending = 0u;
  return library.mig_mode != nullptr
         && library.mig_mode(x, &current, &pending) == nvml::success
         && current != 0;
}

std::vector<std::string> instances_of(const functions& library, device x) {
  auto out = std::vector<std::string>{};
  auto count = 0u;
  if (library.mig_count_max == nullptr || library.mig_device_at == nullptr
      || library.mig_count_max(x, &count) != nvml::success)
    return out;
  for (auto i = 0u; i < std::min(count, instances_max); ++i) {
    auto part = device{};
    if (library.mig_device_at(x, i, &part) != nvml::success)
      continue; // There is a gap where one was removed.
    if (auto uuid = text_from(library.uuid, part); !uuid.empty())
      out.push_back(std::move(uuid));
  }
  return out;
}

core::gpu_identity identity_of(const functions& library, device x) {
  auto out = core::gpu_identity{};
  out.uuid = text_from(library.uuid, x);
  out.pci_address = pci_address_of(library, x);
  out.is_partitioned = is_partitioned(library, x);
  if (out.is_partitioned)
    out.instance_uuids = instances_of(library, x);
  return out;
}

core::gpu_status status_of(const functions& library, unsigned index) {
  auto out = core::gpu_status{.index = index};
  auto x = device{};
  auto worst = library.device_at(index, &x);
  if (worst == nvml::success) {
    out.name = text_from(library.name, x);
    out.uuid = text_from(library.uuid, x);
    auto memory = nvml::memory{};
    worst = library.memory_info(x, &memory);
    if (worst == nvml::success) {
      out.memory_used = memory.used;
      out.memory_total = memory.total;
    }
    auto use = nvml::utilization{};
    if (library.utilization_rates(x, &use) == nvml::success)
      out.utilisation = use.gpu;
    auto degrees = 0u;
    if (library.temperature(x, nvml::core_temperature, &degrees)
        == nvml::success)
      out.temperature = degrees;
  }
  if (worst != nvml::success && worst != nvml::not_supported)
    out.trouble = text_of(library, worst);
  return out;
}

void add_processes(const functions& library, device x, std::set<int64_t>& out) {
  auto count = processes_max;
  auto found = std::vector<nvml::process_info>(processes_max);
  if (library.processes(x, &count, found.data()) != nvml::success)
    return;
  for (auto i = 0u; i < std::min(count, processes_max); ++i)
    out.insert(found[i].pid);
}

} // namespace

result<std::vector<core::gpu_identity>> list_gpus() {
  if (!may_have_gpus())
    return std::vector<core::gpu_identity>{};
  const auto loaded = load_nvml();
  if (!loaded)
    return loaded.error();
  const auto& library = **loaded;
  auto out = std::vector<core::gpu_identity>{};
  for (auto i = 0u; i < count_of(library); ++i) {
    auto x = device{};
    if (const auto code = library.device_at(i, &x); code != nvml::success)
      return failure{errc::system_failure,
                     "GPU " + std::to_string(i)
                       + " cannot be used: " + text_of(library, code)};
    out.push_back(identity_of(library, x));
  }
  return out;
}

core::devices_status look_at_gpus(const functions& library) {
  auto out = core::devices_status{};
  for (auto i = 0u; i < count_of(library); ++i)
    out.gpus.push_back(status_of(library, i));
  return out;
}

std::vector<int64_t> gpu_processes(const functions& library) {
  auto out = std::set<int64_t>{};
  for (auto i = 0u; library.processes != nullptr && i < count_of(library);
       ++i) {
    auto x = device{};
    if (library.device_at(i, &x) == nvml::success)
      add_processes(library, x, out);
  }
  return {out.begin(), out.end()};
}

} // namespace actorrun::detail
