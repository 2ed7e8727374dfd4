// Finds the GPUs that the workers of a node see: parses CUDA_VISIBLE_DEVICES and
// the choice `gpu:0,2,5`.
#pragma once

#include "actors/core/devices/status.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// A GPU by the names that its driver gives it.
struct gpu_identity {
  std::string uuid{}; ///< `GPU-…`
  /// It is partitioned (MIG): only its instances can be used.
  bool is_partitioned = false;
  std::vector<std::string> instance_uuids{}; ///< `MIG-…`, if partitioned.
  std::string pci_address{}; ///< As sysfs writes it: `0000:65:00.0`.
};

/// A device that CUDA offers.
struct visible_gpu {
  std::string name{};       ///< As CUDA_VISIBLE_DEVICES names it.
  size_t gpu = 0;           ///< Its index at the driver, 0..N-1.
  bool is_instance = false; ///< A part of that GPU.

  friend bool operator==(const visible_gpu&, const visible_gpu&) = default;
};

/// By CUDA's numbers.
struct visible_gpus {
  std::vector<visible_gpu> listed{};
  /// The name at which the list ends although more follow: there is no such
  /// device, or it was named before. Empty: the whole list is good.
  std::string bad_name{};
};

/// Reads CUDA_VISIBLE_DEVICES as CUDA does. Names are numbers, the beginnings
/// of UUIDs that only one device has, or `MIG-GPU-<UUID>/<instance>`; all of one
/// kind. The first that names nothing ends the list, and one that names a
/// device a second time empties it.
/// @param list Its value; none: it is not set, and all devices are visible.
/// @param gpus The N GPUs of the node, by their numbers at the driver.
/// @see torch/cuda/__init__.py, `_parse_visible_devices`, counts alike.
visible_gpus find_visible(std::optional<std::string_view> list,
                          std::span<const gpu_identity> gpus);

/// How many of them one process can use: CUDA gives it one instance at most,
/// and that only if no whole GPU comes before it.
size_t usable_count(std::span<const visible_gpu> visible);

/// Reads the `0,2,5` or `0-3,6` of `gpu:0,2,5`.
/// @returns 1..`gpus_per_node_max` numbers below that, each once, as written
/// @retval errc::bad_argument  the text has another form, or a number is too
///         large or comes twice
result<std::vector<uint32_t>> parse_gpu_list(std::string_view text);

/// The names of the chosen devices.
/// @param chosen Numbers by CUDA's count.
/// @retval errc::bad_argument  a number has no device
result<std::vector<std::string>>
choose_gpus(std::span<const uint32_t> chosen,
            std::span<const visible_gpu> visible);

} // namespace actorrun::core
