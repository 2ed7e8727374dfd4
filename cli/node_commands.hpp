// Runs the commands about nodes: their table, and the checks that are built in.
#pragma once

#include "cli/actorctl_arguments.hpp"

#include <string>
#include <vector>

namespace actorrun::cli {

/// Prints every node of jobs.
int show_nodes(const nodes_arguments& arguments);

/// Checks this node, and ends this program: with 0 if all is well. Standard error has
/// what is wrong, in one line.
[[noreturn]] void check_node(const check_arguments& arguments);

/// The same for an agent, by the words that it gives.
[[noreturn]] void check_node(const std::vector<std::string>& words);

} // namespace actorrun::cli
