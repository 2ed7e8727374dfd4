// Asks Slurm for the address of a node whose name leads nowhere: in clouds nodes
// often have names that only slurm.conf knows.
#pragma once

#include "runtime/options.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace actorrun::cli {

/// The address of a node in SLURM_NODE_ALIASES (`n1:10.0.0.1:host1,n2:[fd00::2]:…`).
/// @returns nothing if it is not there
std::optional<std::string> address_in_aliases(std::string_view aliases,
                                              std::string_view node);

/// NodeAddr in what `scontrol show node` says of one node.
/// @returns nothing if it says nothing but the node's name
std::optional<std::string> address_in_scontrol(std::string_view answer,
                                               std::string_view node);

/// In a job of Slurm, replaces a host of the endpoint that has no address by the
/// address that Slurm knows: from the variable, or from scontrol, which gets 20 s.
/// Blocks.
/// @returns what it has done, for people; empty: nothing
std::string find_address_by_slurm(job_options& job);

} // namespace actorrun::cli
