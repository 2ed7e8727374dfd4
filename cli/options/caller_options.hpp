// Defines the options for programs that start actorrun and act for it: what they are
// told, and how they end it.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/host_options.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_caller_options(CLI::App& app, run_settings& out);

/// Whether the option has a variable: those about this process alone have none, because
/// what a worker starts would take them for its own.
bool caller_option_has_variable(std::string_view name);

/// Checks the descriptors, and fills in what reports and events call the program.
/// @pre `out.program` is settled
/// @retval errc::bad_argument  a descriptor is not open, or cannot be what it should
result<void> settle_caller(const run_settings& settings,
                           const host_facts& world, run_arguments& out);

/// The same for a job on other hosts: descriptors and files are of this one.
/// @retval errc::bad_argument  also: an option has no meaning there
result<void> settle_caller(const run_settings& settings,
                           const host_facts& world, hosts_arguments& out);

/// `world` without the variables that options are read from.
host_facts without_option_variables(host_facts world);

} // namespace actorrun::cli
