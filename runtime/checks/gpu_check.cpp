#include "messages/formatted.hpp"
#include "runtime/checks/built_in_checks.hpp"
#include "runtime/devices/cuda.hpp"
#include "runtime/devices/gpu_health.hpp"
#include "runtime/devices/gpu_memory_test.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <thread>
#include <vector>

namespace actorrun::detail {

namespace {

/// How often the links are looked at while GPUs copy.
constexpr auto link_interval = std::chrono::milliseconds{50};

std::string title_of(const checked_gpu& x) {
  return formatted("GPU {}{}", x.index,
                   x.name.empty() ? "" : formatted(" ({})", x.name));
}

std::string title_of(const std::vector<checked_gpu>& all,
                     const std::string& pci_address) {
  const auto i = std::ranges::find(all, pci_address, &checked_gpu::pci_address);
  return i == all.end() ? "GPU at " + pci_address : title_of(*i);
}

/// `no trouble, PCIe 5.0 x16 of PCIe 5.0 x16`
std::string state_text(const core::gpu_reading& x) {
  const auto link = core::to_string(x.link);
  const auto best = core::to_string(x.best_link);
  return "answers, without trouble"
         + (link.empty() ? "" : formatted(", its link has {}", link))
         + (link.empty() || best.empty() ? "" : formatted(" of {}", best));
}

// All of them are named, the faults at last: the last line is what people see.
result<std::vector<checked_gpu>> look_at_gpus(const check_listener& say) {
  auto all = read_visible_gpus();
  if (!all)
    return all;
  auto faults = std::string{};
  for (const auto& x : *all)
    if (const auto fault = core::fault_of(x.reading); fault.empty())
      say(formatted("{}: {}", title_of(x), state_text(x.reading)));
    else
      faults += formatted("{}{}: {}", faults.empty() ? "" : "; ", title_of(x),
                          fault);
  if (!faults.empty())
    return system_failure(std::move(faults));
  return all;
}

/// A device of CUDA that is tested.
struct tested_gpu {
  int device = 0;
  std::string pci_address{};
  std::future<result<gpu_memory_findings>> findings{};
};

/// CUDA writes `0000:65:00.0`, in capital letters.
result<std::string> pci_address_of(const cuda::functions& library, int device) {
  auto text = std::array<char, cuda::text_size_max>{};
  if (const auto code
      = library.pci_address(text.data(), static_cast<int>(text.size()), device);
      code != cuda::success)
    return system_failure(
      formatted("GPU {} of CUDA: {}", device, text_of(library, code)));
  auto out = std::string{text.data(), ::strnlen(text.data(), text.size())};
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return out;
}

/// One thread for each: many GPUs take as long as one, as far as the host copies.
result<std::vector<tested_gpu>> begin_tests(const cuda::functions& library) {
  auto count = 0;
  if (const auto code = library.device_count(&count); code != cuda::success)
    return system_failure("CUDA does not count its GPUs: "
                          + text_of(library, code));
  if (count == 0)
    return system_failure("CUDA offers no GPU to this process");
  auto out = std::vector<tested_gpu>{};
  for (auto i = 0; i < count; ++i) {
    auto device = 0;
    if (const auto code = library.device_at(&device, i); code != cuda::success)
      return system_failure(
        formatted("GPU {} of CUDA: {}", i, text_of(library, code)));
    auto address = pci_address_of(library, device);
    if (!address)
      return address.error();
    out.push_back({.device = device, .pci_address = *std::move(address)});
  }
  for (auto& x : out)
    x.findings = std::async(std::launch::async, [&library, device = x.device] {
      return test_gpu_memory(library, device);
    });
  return out;
}

/// The best link of each GPU, by its PCI address, while any of them is tested.
std::map<std::string, core::pcie_link>
watch_links(const std::vector<tested_gpu>& tests) {
  auto out = std::map<std::string, core::pcie_link>{};
  const auto library = load_nvml();
  for (const auto& x : tests)
    while (x.findings.wait_for(link_interval) != std::future_status::ready)
      for (const auto& y : tests)
        if (library)
          out[y.pci_address] = core::better(out[y.pci_address],
                                            link_of(**library, y.pci_address));
  return out;
}

std::string fault_of_link(const std::vector<checked_gpu>& all,
                          const std::string& pci_address,
                          const core::pcie_link& seen) {
  const auto i = std::ranges::find(all, pci_address, &checked_gpu::pci_address);
  return i == all.end() ? std::string{}
                        : core::fault_under_load(seen, i->reading.best_link);
}

} // namespace

result<void> check_gpus_quickly(const check_listener& say) {
  const auto all = look_at_gpus(say);
  return all ? result<void>{} : all.error();
}

result<void> check_gpus(const check_listener& say) {
  const auto all = look_at_gpus(say);
  if (!all)
    return all.error();
  const auto library = open_cuda();
  if (!library)
    return library.error();
  auto tests = begin_tests(*library);
  if (!tests)
    return tests.error();
  auto links = watch_links(*tests);
  auto faults = std::string{};
  for (auto& x : *tests) {
    const auto found = x.findings.get();
    const auto title = title_of(*all, x.pci_address);
    auto fault = found
                   ? fault_of_link(*all, x.pci_address, links[x.pci_address])
                   : found.error().text;
    if (found)
      say(formatted("{}: {}", title, to_string(*found)));
    if (!fault.empty())
      faults += formatted("{}{}: {}", faults.empty() ? "" : "; ", title, fault);
  }
  return faults.empty() ? result<void>{} : system_failure(std::move(faults));
}

} // namespace actorrun::detail
