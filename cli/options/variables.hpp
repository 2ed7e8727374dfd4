// Environment variables that somebody set in vain.
#pragma once

#include "cli/options/host_facts.hpp"
#include "cli/options/option_table.hpp"

#include <string>
#include <vector>

namespace actorrun::cli {

/// Adds a line for each variable `PET_…` that is none of `rules`, with the one
/// that was meant; and for each that tells torchrun something and us nothing,
/// with what to use instead.
void warn_of_variables(const host_facts& world, const option_rules& rules,
                       std::vector<std::string>& warnings);

} // namespace actorrun::cli
