#include "runtime/devices/gpu_inventory.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/devices.hpp"
#include "runtime/devices/nvml.hpp"

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
    = core::lowered({info.bus_id, ::strnlen(info.bus_id, sizeof info.bus_id)});
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

/// The instances of a partitioned GPU; none of any other.
std::vector<device> parts_of(const functions& library, device x) {
  auto out = std::vector<device>{};
  auto count = 0u;
  if (!is_partitioned(library, x) || library.mig_count_max == nullptr
      || library.mig_device_at == nullptr
      || library.mig_count_max(x, &count) != nvml::success)
    return out;
  for (auto i = 0u; i < std::min(count, instances_max); ++i) {
    auto part = device{};
    if (library.mig_device_at(x, i, &part) == nvml::success)
      out.push_back(part); // There is a gap where one was removed.
  }
  return out;
}

core::gpu_identity identity_of(const functions& library, device x) {
  auto out = core::gpu_identity{};
  out.uuid = text_from(library.uuid, x);
  out.pci_address = pci_address_of(library, x);
  out.is_partitioned = is_partitioned(library, x);
  for (const auto part : parts_of(library, x))
    if (auto uuid = text_from(library.uuid, part); !uuid.empty())
      out.instance_uuids.push_back(std::move(uuid));
  return out;
}

/// Only privileged users can query a partitioned GPU; for others its instances
/// are added up.
int read_memory(const functions& library, device x, nvml::memory& out) {
  const auto code = library.memory_info(x, &out);
  if (code != nvml::no_permission)
    return code;
  out = {};
  for (const auto part : parts_of(library, x)) {
    auto share = nvml::memory{};
    if (library.memory_info(part, &share) == nvml::success) {
      out.total += share.total;
      out.used += share.used;
    }
  }
  return out.total > 0 ? nvml::success : code;
}

core::gpu_status status_of(const functions& library, const gpu_handle& of) {
  auto out = core::gpu_status{.index = of.index};
  auto worst = of.code;
  if (worst == nvml::success) {
    out.name = text_from(library.name, of.gpu);
    out.uuid = text_from(library.uuid, of.gpu);
    auto memory = nvml::memory{};
    worst = read_memory(library, of.gpu, memory);
    if (worst == nvml::success) {
      out.memory_used = memory.used;
      out.memory_total = memory.total;
    }
    auto use = nvml::utilization{};
    if (library.utilization_rates(of.gpu, &use) == nvml::success)
      out.utilisation = use.gpu;
    auto degrees = 0u;
    if (library.temperature(of.gpu, nvml::core_temperature, &degrees)
        == nvml::success)
      out.temperature = degrees;
  }
  if (is_gpu_trouble(worst))
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

std::vector<gpu_handle> gpu_handles(const functions& library) {
  auto out = std::vector<gpu_handle>{};
  for (auto i = 0u; i < count_of(library); ++i) {
    auto x = gpu_handle{.index = i};
    x.code = library.device_at(i, &x.gpu);
    if (x.code != nvml::no_permission)
      out.push_back(x);
  }
  return out;
}

bool is_gpu_trouble(int code) {
  return code != nvml::success && code != nvml::not_supported
         && code != nvml::no_permission && code != nvml::function_not_found;
}

std::vector<core::gpu_identity> identify(const functions& library,
                                         const std::vector<gpu_handle>& gpus) {
  auto out = std::vector<core::gpu_identity>{};
  for (const auto& x : gpus)
    out.push_back(x.code == nvml::success ? identity_of(library, x.gpu)
                                          : core::gpu_identity{});
  return out;
}

std::string name_of_gpu(const functions& library, const gpu_handle& x) {
  return x.code == nvml::success ? text_from(library.name, x.gpu) : "";
}

core::devices_status inspect_gpus(const functions& library) {
  auto out = core::devices_status{};
  for (const auto& x : gpu_handles(library))
    out.gpus.push_back(status_of(library, x));
  return out;
}

// Also of instances: only privileged users can query the whole GPU.
std::vector<int64_t> gpu_processes(const functions& library) {
  auto out = std::set<int64_t>{};
  if (library.processes == nullptr)
    return {};
  for (const auto& x : gpu_handles(library)) {
    if (x.code != nvml::success)
      continue;
    add_processes(library, x.gpu, out);
    for (const auto part : parts_of(library, x.gpu))
      add_processes(library, part, out);
  }
  return {out.begin(), out.end()};
}

} // namespace actorrun::detail

namespace actorrun {

using namespace detail;

result<std::vector<core::gpu_identity>> list_gpus() {
  if (!may_have_gpus())
    return std::vector<core::gpu_identity>{};
  const auto loaded = load_nvml();
  if (!loaded)
    return loaded.error();
  const auto& library = **loaded;
  auto out = std::vector<core::gpu_identity>{};
  for (const auto& x : gpu_handles(library)) {
    if (x.code != nvml::success)
      return failure{errc::system_failure,
                     formatted("GPU {} cannot be used: {}", x.index,
                               text_of(library, x.code))};
    out.push_back(identity_of(library, x.gpu));
  }
  return out;
}

} // namespace actorrun
