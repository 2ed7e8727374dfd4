// Defines the options about CPUs and GPUs: the number of workers, their devices,
// and what they are bound to.
#pragma once

#include "actors/core/devices/binding.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// What `--nproc-per-node` asks for.
struct slot_wish {
  enum class kind {
    number,    ///< `count` workers.
    gpus,      ///< One for each GPU.
    chosen,    ///< One for each of `gpus`.
    xpus,      ///< One for each GPU of Level Zero.
    automatic, ///< One for each GPU, or else for each CPU.
  };
  kind what = kind::number;
  uint32_t count = 1;
  std::vector<uint32_t> gpus{}; ///< By CUDA's numbers.
};

struct device_settings {
  slot_wish slots;
  core::binding_mode binding = core::binding_mode::none;
  bool reports_bindings = false;
};

/// Adds the options that fill `out`, which must outlive `app`.
/// @param cpu_count For `--nproc-per-node=cpu`.
void add_device_options(CLI::App& app, device_settings& out,
                        const std::function<uint32_t()>& cpu_count);

/// Reads the value of `--nproc-per-node`.
result<slot_wish> parse_slots(const std::string& text,
                              const std::function<uint32_t()>& cpu_count);

/// The workers of this node, and what they see.
struct slot_choice {
  uint32_t count = 1; ///< 1..`core::slots_per_agent_max`.
  /// CUDA_VISIBLE_DEVICES of the workers; empty: as inherited.
  std::vector<std::string> visible{};
  std::vector<std::string> warnings{}; ///< One line each, for a person.
};

/// Decides the number of workers. Asks drivers only if devices must be counted.
/// @param each_sees_one Workers see one device each (`--virtual-local-rank`),
///                      so that the instances of a GPU count each for itself.
/// @retval errc::bad_argument  there are no such devices; the text says why
result<slot_choice> choose_slots(const slot_wish& wish, bool each_sees_one,
                                 const host_facts& world);

} // namespace actorrun::cli
