// Names of files in the folder of a user's jobs that belong to one process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// `<pid>.<number><suffix>`: nobody else has it, and no other part of this
/// process.
std::string private_name(std::string_view suffix);

/// Whose name it is; none if it is none of this kind.
std::optional<pid_t> owner_of(std::string_view name, std::string_view suffix);

/// Removes what processes have left that were killed. Who shares the folder may
/// not see each other's processes; so somebody who uses a file keeps it, too.
/// @param is_used Asked about each file whose owner seems to be gone.
void remove_dead(const std::string& folder, std::string_view suffix,
                 const std::function<bool(const std::string& path)>& is_used);

} // namespace actorrun::detail
