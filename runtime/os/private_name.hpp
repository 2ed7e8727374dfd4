// Names files of one process in the folder of a user's jobs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// `<pid>-<8 random hex digits>`. Containers that share a folder may have processes
/// of the same pid; the digits, the same for all calls, tell them apart.
std::string process_name(pid_t pid);

/// The process of such a name, or of a plain `<pid>`; none if it is neither.
std::optional<pid_t> pid_of(std::string_view process_name);

/// `<process name>.<number><suffix>`: unique among processes and within this one.
std::string private_name(std::string_view suffix);

/// The process that a private name belongs to; none if it is not such a name.
std::optional<pid_t> owner_of(std::string_view name, std::string_view suffix);

/// Removes files left by processes that were killed, also by one that had our pid.
/// Containers that share the folder may not see each other's processes; so a file in
/// use stays, too.
/// @param is_used Called for each file whose owner seems to be gone.
void remove_dead(const std::string& folder, std::string_view suffix,
                 const std::function<bool(const std::string& path)>& is_used);

} // namespace actorrun::detail
