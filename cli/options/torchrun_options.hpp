// Serves scripts written for torchrun: knows the names of its options and those of
// them that mean little or nothing to actorrun, and warns about options and
// variables that are accepted but do nothing. An option that asks for nothing is
// accepted, so that scripts go on working; the rest is refused with what to use
// instead.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_settings.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// All options of torchrun 2.14 and `torch.distributed.launch`, with dashes, in
/// the order of torchrun's help. Abbreviations mean these first, and the
/// compatibility ledger has an entry for each.
std::span<const std::string_view> torchrun_options();

/// @param name With dashes: `--max-restarts`.
bool is_torchrun_option(std::string_view name);

/// Adds the options that fill `out`, which must outlive `app`.
void add_torchrun_options(CLI::App& app, run_settings& out);

/// Warns about options that are accepted but do nothing.
void warn_of_ignored_options(const run_settings& settings,
                             const std::vector<given_option>& typed,
                             std::vector<std::string>& warnings);

/// Warns about each variable `PET_…` that no option of `app` reads, with the one that
/// was probably meant.
void warn_of_ignored_variables(const host_facts& world, const CLI::App& app,
                               std::vector<std::string>& warnings);

} // namespace actorrun::cli
