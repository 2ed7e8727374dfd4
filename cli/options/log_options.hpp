// What is asked of the workers' output: how it goes together.
#pragma once

#include "cli/options/actorrun_options.hpp"

#include <string>
#include <vector>

namespace actorrun::cli {

/// An option that was set and, at least in part, changes nothing.
struct idle_option {
  std::string name;
  std::string why; ///< And what to do.
  /// Of no harm: worth a remark to who typed it, and no more.
  bool is_harmless = false;
};

/// The log options that can have no effect beside the others.
std::vector<idle_option> idle_log_options(const run_settings& x);

/// What the log options come to, for the local ranks that exist.
core::log_options log_options_of(const run_settings& x);

} // namespace actorrun::cli
