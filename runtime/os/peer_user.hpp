// Finds the user behind the other end of a TCP connection.
#pragma once

#include <optional>

#include <sys/types.h>

namespace actorrun::detail {

/// The user whose process has the other end of a TCP connection, if that end is a
/// socket of this network namespace: then the system knows it, and no packet can
/// say otherwise (sock_diag(7)). None: it is elsewhere, or the system does not
/// tell. An end that its process has closed is root's.
/// @param fd Connected. Never blocks: the system answers at once.
std::optional<uid_t> user_of_peer(int fd);

/// Whether a user may take part in a job of ours on this host: root, or ourselves.
bool is_trusted(uid_t user);

} // namespace actorrun::detail
