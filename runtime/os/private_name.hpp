// Names files of one process in the folder of a user's jobs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// `<pid>.<number><suffix>`: unique among processes and within this one.
std::string private_name(std::string_view suffix);

/// The process that a name belongs to; none if it is not such a name.
std::optional<pid_t> owner_of(std::string_view name, std::string_view suffix);

/// Removes files left by processes that were killed. Containers that share the
/// folder may not see each other's processes; so a file in use stays, too.
/// @param is_used Called for each file whose owner seems to be gone.
void remove_dead(const std::string& folder, std::string_view suffix,
                 const std::function<bool(const std::string& path)>& is_used);

} // namespace actorrun::detail
