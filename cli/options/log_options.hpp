// Defines the options about the workers' output.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/run_settings.hpp"

#include <string>
#include <vector>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_log_options(CLI::App& app, run_settings& out);

/// An option that was set and has no effect, at least in part.
struct idle_option {
  std::string name;
  std::string why; ///< And what to do.
  /// Worth a warning if it was typed, but not if a variable set it.
  bool is_harmless = false;
};

/// The log options that can have no effect together with the others.
std::vector<idle_option> idle_log_options(const run_settings& x);

/// The log options as the agent takes them, for the local ranks that exist.
core::log_options log_options_of(const run_settings& x);

} // namespace actorrun::cli
