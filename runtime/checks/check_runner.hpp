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

/// @param environment `NAME=value`, the whole of a command's.
/// @param guardian    Kills it if this program cannot.
std::shared_ptr<ports::check_runner>
make_check_runner(std::shared_ptr<reactor> loop,
                  std::vector<std::string> environment,
                  std::shared_ptr<warden> guardian);

} // namespace actorrun::detail
