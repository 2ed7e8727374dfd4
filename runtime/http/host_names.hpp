// Tells the names of this host from those that a foreign site has given to its
// address.
#pragma once

#include <string>
#include <string_view>

namespace actorrun::detail {

/// Whether a browser that was led here by the page of another site would not name
/// this host so: it is a number, `localhost`, or the host's own name. Otherwise that
/// page, whose name can be made to mean this host's address, could read the
/// answers (DNS rebinding).
/// @param field As the client has sent it: `node1:8080`; with or without the port.
/// @param own   This host's name, with or without its domain.
bool is_own_name(std::string_view field, const std::string& own);

} // namespace actorrun::detail
