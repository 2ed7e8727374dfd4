// Runs the commands that check a node.
#pragma once

#include "actors/ports/check_runner.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/side_command.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::detail {

/// What a node's built-in checks need.
struct own_checks {
  std::vector<std::string> program{}; ///< As in `check_options`.
  std::vector<std::string> folders{}; ///< For `disk`.
};

/// @param environment `NAME=value`, the whole of a command's.
/// @param guardian    Kills it if this program cannot.
/// @param own         Of commands that are the name of a built-in check; without a
///                    program these are commands for the shell, too.
std::shared_ptr<ports::check_runner>
make_check_runner(std::shared_ptr<reactor> loop,
                  std::vector<std::string> environment,
                  std::shared_ptr<warden> guardian, own_checks own = {});

} // namespace actorrun::detail
