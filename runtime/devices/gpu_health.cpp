#include "runtime/devices/gpu_health.hpp"

#include "actors/core/devices/list.hpp"
#include "messages/formatted.hpp"
#include "runtime/devices/gpu_inventory.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace actorrun::detail {

namespace {

using nvml::device;
using nvml::functions;

/// NVML's numbers.
constexpr unsigned uncorrected_errors = 1;
constexpr unsigned since_driver_was_loaded = 0;

/// What a function says that fills one number in; none: it does not say it.
template <class Number, class Function, class... More>
std::optional<Number> number_from(Function read, device x, More... more) {
  auto out = Number{};
  if (read == nullptr || read(x, more..., &out) != nvml::success)
    return std::nullopt;
  return out;
}

std::optional<bool> flag(const std::optional<unsigned>& x) {
  return x ? std::optional{*x != 0} : std::nullopt;
}

void read_rows(const functions& library, device x, core::gpu_reading& out) {
  auto corrected = 0u;
  auto uncorrected = 0u;
  auto is_pending = 0u;
  auto has_failed = 0u;
  if (library.remapped_rows == nullptr
      || library.remapped_rows(x, &corrected, &uncorrected, &is_pending,
                               &has_failed)
           != nvml::success)
    return;
  out.remaps_row = is_pending != 0;
  out.has_lost_row = has_failed != 0;
}

core::pcie_link link_from(const functions& library, device x) {
  return {number_from<unsigned>(library.link_generation, x).value_or(0),
          number_from<unsigned>(library.link_width, x).value_or(0)};
}

core::gpu_reading reading_of(const functions& library, const gpu_handle& of) {
  auto out = core::gpu_reading{};
  if (of.code != nvml::success) {
    out.trouble = text_of(library, of.code);
    return out;
  }
  // It is the first question that a GPU which is lost does not answer.
  auto memory = nvml::memory{};
  if (const auto code = library.memory_info(of.gpu, &memory);
      is_gpu_trouble(code)) {
    out.trouble = text_of(library, code);
    return out;
  }
  out.retires_page
    = flag(number_from<unsigned>(library.retired_pages_pending, of.gpu));
  read_rows(library, of.gpu, out);
  out.uncorrected = number_from<unsigned long long>(
    library.ecc_errors, of.gpu, uncorrected_errors, since_driver_was_loaded);
  out.link = link_from(library, of.gpu);
  out.best_link
    = {number_from<unsigned>(library.link_generation_max, of.gpu).value_or(0),
       number_from<unsigned>(library.link_width_max, of.gpu).value_or(0)};
  return out;
}

/// Indexes of the GPUs that are visible, each once.
result<std::vector<size_t>>
visible_indexes(const std::vector<core::gpu_identity>& all) {
  constexpr auto variable = "CUDA_VISIBLE_DEVICES";
  const auto* list = std::getenv(variable);
  const auto visible = core::find_visible(
    list != nullptr ? std::optional<std::string_view>{list} : std::nullopt,
    all);
  if (!visible.bad_name.empty())
    return system_failure(
      formatted("{}={} names a GPU that is not there, or twice: {}", variable,
                list, visible.bad_name));
  auto out = std::vector<size_t>{};
  for (const auto& x : visible.listed)
    if (std::ranges::find(out, x.gpu) == out.end())
      out.push_back(x.gpu);
  if (out.empty() && !all.empty())
    return system_failure(
      formatted("{}={} leaves no GPU", variable, list != nullptr ? list : ""));
  return out;
}

} // namespace

result<std::vector<checked_gpu>> read_visible_gpus() {
  if (!may_have_gpus())
    return system_failure(
      "this node has no GPU with an NVIDIA driver (no /dev/nvidiactl)");
  const auto loaded = load_nvml();
  if (!loaded)
    return loaded.error();
  const auto& library = **loaded;
  const auto handles = gpu_handles(library);
  const auto identities = identify(library, handles);
  const auto visible = visible_indexes(identities);
  if (!visible)
    return visible.error();
  if (visible->empty())
    return system_failure("the NVIDIA driver shows no GPU to this process");
  auto out = std::vector<checked_gpu>{};
  for (const auto i : *visible)
    out.push_back({.index = handles[i].index,
                   .name = name_of_gpu(library, handles[i]),
                   .pci_address = identities[i].pci_address,
                   .reading = reading_of(library, handles[i])});
  return out;
}

core::pcie_link link_of(const functions& library,
                        const std::string& pci_address) {
  const auto handles = gpu_handles(library);
  const auto identities = identify(library, handles);
  for (size_t i = 0; i < handles.size(); ++i)
    if (handles[i].code == nvml::success
        && identities[i].pci_address == pci_address)
      return link_from(library, handles[i].gpu);
  return {};
}

} // namespace actorrun::detail
