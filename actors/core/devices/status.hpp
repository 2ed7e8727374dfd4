// Describes the state of a node's GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// At most this many GPUs of a node are watched; no machine has as many.
inline constexpr size_t gpus_per_node_max = 64;

/// One GPU, as its driver shows it.
struct gpu_status {
  uint32_t index = 0; ///< Its number at the driver, by PCI address.
  std::string name{};
  std::string uuid{};
  uint64_t memory_used = 0;              ///< In bytes.
  uint64_t memory_total = 0;             ///< In bytes; 0: not known.
  std::optional<uint32_t> utilisation{}; ///< Per cent of the last second.
  std::optional<uint32_t> temperature{}; ///< Degrees Celsius.
  /// Why it should not be used any more; empty: it is healthy.
  std::string trouble{};

  friend bool operator==(const gpu_status&, const gpu_status&) = default;
};

/// The GPUs of one node, by ascending index.
struct devices_status {
  std::vector<gpu_status> gpus{}; ///< At most `gpus_per_node_max`.
  /// Why the driver cannot be asked; empty: it can.
  std::string trouble{};

  friend bool operator==(const devices_status&, const devices_status&)
    = default;
};

} // namespace actorrun::core
