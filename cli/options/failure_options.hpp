// Defines the options that say what follows from the end of a generation.
#pragma once

#include "actors/core/protocol/restart_rules.hpp"
#include "cli/options/command_line.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// First wait, and the longest.
struct backoff_range {
  std::chrono::milliseconds min{0};
  std::chrono::milliseconds max{0};
};

/// As they were typed.
struct failure_settings {
  uint32_t exclude_after = 0;
  std::vector<std::string> on_failure; ///< `CLASS:ACTION` each.
  uint32_t idle_restarts_max = 0;
  std::optional<backoff_range> backoff;
  bool node_failures_are_free = false;
  core::gpu_fault_action on_gpu_fault = core::restart_rules{}.on_gpu_fault;
};

/// The longest wait between two starts, unless one is given.
inline constexpr std::chrono::milliseconds usual_backoff_max
  = std::chrono::minutes{5};

/// `1s:2m`, or `1s`
/// @retval errc::bad_argument  it is none, or the second is less than the first
result<backoff_range> parse_backoff(const std::string& text);

/// Adds the options that fill `out`, which must outlive the App.
void add_failure_options(option_adder& add, failure_settings& out);

/// @retval errc::bad_argument  a rule names no class or no action, or a class has two
result<core::restart_rules> restart_rules_of(const failure_settings& x);

} // namespace actorrun::cli
