// Defines the options about checks of this node.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_check_options(CLI::App& app, run_settings& out);

/// `join,failure,every:1h`
/// @retval errc::bad_argument  it is no list of moments
result<core::check_moments> parse_check_moments(const std::string& text);

/// Before the name of a built-in check and its folders this is the word by which an
/// agent has its program check the node, in a process of its own.
inline constexpr auto node_check_word = "--node-check";

/// Fills in the checks of `out`.
/// @retval errc::bad_argument    options about checks were given without one
/// @retval errc::system_failure  the program that would run one is not known
result<void> settle_checks(const run_settings& settings,
                           const host_facts& world, run_arguments& out);

} // namespace actorrun::cli
