// Collects the options of `actorrun` from all pages of this folder.
#pragma once

#include "cli/options/option_table.hpp"
#include "cli/options/run_settings.hpp"

#include <cstdint>
#include <functional>

namespace actorrun::cli {

/// The rules that fill `out`, which must outlive them. Options of torchrun that
/// have no meaning here are among them: they accept values that ask for nothing and
/// refuse all others.
/// @param cpu_count For `--nproc-per-node=cpu`.
option_rules run_rules(run_settings& out,
                       const std::function<uint32_t()>& cpu_count);

} // namespace actorrun::cli
