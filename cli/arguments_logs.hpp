// What is asked of the workers' output: how it goes together.
#pragma once

#include "actorrun/cli/arguments_run.hpp"

#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// An option that was set and changes nothing.
struct idle_option {
  std::string name;
  std::string why; ///< And what to do.
  /// Of no harm: worth a remark to who typed it, and no more.
  bool is_harmless = false;
};

/// The log options that can have no effect beside the others.
std::vector<idle_option> idle_log_options(const run_settings& x);

/// Checks that the local ranks which log options name exist.
/// @retval errc::bad_argument  one does not; the text names option and rank
std::optional<failure> check_log_ranks(const run_settings& x);

} // namespace actorrun::cli
