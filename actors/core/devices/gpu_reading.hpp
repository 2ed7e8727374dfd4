// Decides whether a GPU is healthy, from what its driver says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// The link of a GPU to its host. 0: not known.
struct pcie_link {
  uint32_t generation = 0;
  uint32_t width = 0; ///< 16: x16.

  friend bool operator==(const pcie_link&, const pcie_link&) = default;
};

/// `PCIe 5.0 x16`; empty: nothing is known.
std::string to_string(const pcie_link& x);

/// Of each the better one.
pcie_link better(const pcie_link& x, const pcie_link& y);

/// What this GPU, driver or user cannot tell is absent: that is no fault.
struct gpu_reading {
  std::string trouble{}; ///< The driver's words; empty: it answers.
  std::optional<bool> retires_page{}; ///< … at the next reset.
  std::optional<bool> remaps_row{};   ///< Likewise.
  std::optional<bool> has_lost_row{}; ///< It could not be remapped.
  /// Memory errors that could not be corrected, since the driver was loaded.
  std::optional<uint64_t> uncorrected{};
  pcie_link link{};
  pcie_link best_link{}; ///< That this GPU in this machine can have.
};

/// What is wrong with the GPU, in one line; empty: nothing. An idle GPU saves power
/// on a slower link, so that is no fault here.
std::string fault_of(const gpu_reading& x);

/// What is wrong with the link that a GPU had while it was copying; empty: nothing.
/// @param seen The best one.
std::string fault_under_load(const pcie_link& seen, const pcie_link& best);

} // namespace actorrun::core
