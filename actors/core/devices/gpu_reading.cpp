#include "actors/core/devices/gpu_reading.hpp"

#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

std::string to_string(const pcie_link& x) {
  if (x.generation == 0 && x.width == 0)
    return {};
  auto out = std::string{"PCIe"};
  if (x.generation != 0)
    out += ' ' + std::to_string(x.generation) + ".0";
  if (x.width != 0)
    out += " x" + std::to_string(x.width);
  return out;
}

pcie_link better(const pcie_link& x, const pcie_link& y) {
  return {std::max(x.generation, y.generation), std::max(x.width, y.width)};
}

std::string fault_of(const gpu_reading& x) {
  if (!x.trouble.empty())
    return x.trouble;
  if (x.has_lost_row.value_or(false))
    return "a faulty row of its memory could not be remapped: have it replaced";
  if (x.remaps_row.value_or(false))
    return "a faulty row of its memory waits to be remapped: reset the GPU";
  if (x.retires_page.value_or(false))
    return "a faulty page of its memory waits to be retired: reset the GPU";
  if (const auto count = x.uncorrected.value_or(0); count > 0)
    return counted(count, "memory error")
           + " could not be corrected since the driver was loaded: reset the"
             " GPU";
  return {};
}

std::string fault_under_load(const pcie_link& seen, const pcie_link& best) {
  const auto is_known = [](uint32_t x, uint32_t y) { return x != 0 && y != 0; };
  const auto is_slow = is_known(seen.generation, best.generation)
                       && seen.generation < best.generation;
  const auto is_narrow
    = is_known(seen.width, best.width) && seen.width < best.width;
  if (!is_slow && !is_narrow)
    return {};
  return "its link had " + to_string(seen) + " at best while it was copying, "
         + to_string(best) + " is possible: see how the GPU sits in its slot";
}

} // namespace actorrun::core
