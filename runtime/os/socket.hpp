// Calls on single sockets that more than one part of the door needs.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <string>
#include <string_view>

namespace actorrun::detail {

/// A socket that listens on exactly this address, non-blocking.
/// @retval errc::address_in_use  another program listens there
/// @retval errc::cannot_listen   the system refuses for another reason
result<unique_fd> open_listening(const socket_address& where);

/// The same for a Unix socket that only its user may connect to. It appears
/// under `path` when it listens, so nobody takes it for a dead one.
/// @retval errc::cannot_listen  the path is too long or the system refuses
result<unique_fd> open_listening_unix(const std::string& path);

/// Makes a TCP connection quick and a dead peer noticed: no delay, keep-alive
/// after 10 s of silence, and 10 s until unacknowledged bytes end it. Other
/// sockets stay as they are.
void tune_connection(int fd);

/// A connect to a port of the ephemeral range on which nobody listens can meet
/// itself, when the system chooses that very port for our end.
bool is_connected_to_itself(int fd);

/// Sends all of it or says no. Never blocks: what the door sends is smaller
/// than the buffer of a new socket, so a full one is a broken peer.
bool send_whole(int fd, std::string_view bytes);

/// How far a handshake has come.
enum class exchange_state {
  waiting, ///< Nothing more to read now.
  settled, ///< The handshake is accepted or refused.
  closed,  ///< The connection ended first.
};

/// Reads what `side` wants and sends what it answers, as far as it goes.
exchange_state exchange(int fd, handshake& side);

/// What the system says of an errno.
std::string error_text(int error);

} // namespace actorrun::detail
