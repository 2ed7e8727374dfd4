// Runs one of the checks that actorrun brings along.
#pragma once

#include "actors/core/checks/built_in.hpp"
#include "messages/result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace actorrun {

/// Returns when it has ended; it may hang with the disk or driver that it checks. To be
/// called in a process that does nothing else: drivers leave threads behind.
/// @param folders For `disk`: these, beside the folder for temporary files.
/// @param say Is called with a line about each thing that is well.
/// @retval errc::system_failure  what is wrong with this node, in one line
result<void>
run_node_check(core::built_in_check which,
               const std::vector<std::string>& folders,
               const std::function<void(const std::string& line)>& say);

/// The file of this program, for another process that is to run it.
/// @retval errc::system_failure  it is not known
result<std::string> own_program_file();

} // namespace actorrun
