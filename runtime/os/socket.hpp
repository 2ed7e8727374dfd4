// Opens, tunes and writes to single sockets.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <string>
#include <string_view>

#include <sys/socket.h>

namespace actorrun::detail {

/// A socket that listens on exactly this address, non-blocking.
/// @retval errc::address_in_use  another program listens there
/// @retval errc::cannot_listen   the system refuses for another reason
result<unique_fd> open_listening(const socket_address& where);

/// The same for a Unix socket that only its user may connect to. It appears
/// under `path` when it listens already, so it is never mistaken for a dead
/// one.
/// @param type SOCK_STREAM or SOCK_SEQPACKET.
/// @retval errc::cannot_listen  the path is too long or the system refuses
result<unique_fd> open_listening_unix(const std::string& path,
                                      int type = SOCK_STREAM);

/// Reduces the latency of a TCP connection and detects a dead peer: no delay,
/// keep-alive after 10 s of silence, and 10 s until unacknowledged bytes end
/// the connection. Other sockets stay as they are.
void tune_connection(int fd);

/// Whether a socket is connected to itself: connecting to a port of the
/// ephemeral range without a listener does that if the system chooses the same
/// port for our end.
bool is_connected_to_itself(int fd);

/// Sends all bytes, or returns false. Never blocks: a handshake is smaller than
/// the buffer of a new socket, so a full buffer means a broken peer.
bool send_whole(int fd, std::string_view bytes);

} // namespace actorrun::detail
