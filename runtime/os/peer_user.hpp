// Finds the user behind the other end of a TCP connection.
#pragma once

#include <optional>

#include <sys/types.h>

namespace actorrun::detail {

/// Of an end that no process has: it was closed, or is not accepted yet. Linux says
/// root of the one, and up to 6.16 of the other, too.
inline constexpr auto no_user = static_cast<uid_t>(-1);

/// The user whose process has the other end of a TCP connection, if that end is a
/// socket of this network namespace: then the system knows it, and no packet can
/// say otherwise (sock_diag(7)). None: it is elsewhere, or the system does not
/// tell.
/// @param fd Connected. Never blocks: the system answers at once.
std::optional<uid_t> user_of_peer(int fd);

/// Whether a user may take part in a job of ours on this host: root, or ourselves.
/// `no_user` may not.
bool is_trusted(uid_t user);

} // namespace actorrun::detail
