// Reads the command line of `actorrun`, or reports what is wrong with it.
#pragma once

#include "cli/options/host_facts.hpp"
#include "cli/options/host_options.hpp"
#include "cli/options/run_arguments.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace actorrun::cli {

/// Show `text` on standard output and succeed.
struct help {
  std::string text;
};

/// Show the version on standard output and succeed.
struct version {};

/// Where the value of an option comes from.
struct option_origin {
  std::string name;   ///< `--max-restarts`
  std::string value;  ///< `on` of a flag.
  std::string source; ///< `command line`, `PET_MAX_RESTARTS`, `default`.

  friend bool operator==(const option_origin&, const option_origin&) = default;
};

/// Say what would be started, and start nothing.
struct dry_run_arguments {
  run_arguments run; ///< With `hosts` the part of the first one.
  std::optional<hosts_arguments> hosts; ///< Of `--hosts`.
  /// Those that are given, and then the usual ones that have a default.
  std::vector<option_origin> options;
  uint32_t cpu_count = 0;
  std::optional<size_t> gpu_count; ///< None: the driver could not be asked.
  std::optional<std::string> inherited_devices; ///< CUDA_VISIBLE_DEVICES.
  bool has_thread_count = false;                ///< OMP_NUM_THREADS is set.
};

using run_command = std::variant<run_arguments, hosts_arguments,
                                 dry_run_arguments, help, version>;

/// Reads a command line as torchrun does.
///
/// The first word that is not an option is the script; all words after it are the
/// script's arguments and are not read. Options that are not given are taken from
/// the variables `PET_…`, then from the defaults. Deterministic: it asks only
/// `world`.
/// @param words   Without the program's name.
/// @param program By which name, or path, the program was called.
/// @retval errc::bad_argument  an option or variable is unknown, not supported,
///         wrong or at odds with another; the text names it
result<run_command> parse_run(const std::vector<std::string>& words,
                              const host_facts& world,
                              std::string_view program = "actorrun");

/// The `--report-file` of a command line that was refused; empty: none, as far as it can
/// be told.
std::string report_file_in(const std::vector<std::string>& words);

} // namespace actorrun::cli
