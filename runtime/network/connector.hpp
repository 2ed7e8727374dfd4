// The side of the door that goes out: finds a coordinator, connects, and proves
// both sides before anything else is said.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/options.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/reactor_part.hpp"
#include "runtime/os/unique_fd.hpp"

#include <functional>
#include <string>

namespace actorrun::detail {

/// An authenticated connection.
struct connected {
  unique_fd connection; ///< Non-blocking; nothing is read past the handshake.
  /// Our end's numeric host, by which the other side's network reaches us.
  /// Empty on a Unix socket.
  std::string local_address;
};

/// Who wants in.
struct visitor {
  credentials mine; ///< On a Unix socket it may be empty: any job.
  purpose intent = purpose::join;
  std::string id; ///< See `is_peer_id`.
};

/// Called once, on the reactor's thread; must not block. On failure the code is
/// `unresolvable`, `connection_refused` (by every address), `connection_failed`,
/// `connection_timed_out`, `not_actorrun`, `protocol_mismatch`, `job_mismatch`
/// or `secret_mismatch`; the text says where, what and what to do about it.
using connect_callback = std::function<void(result<connected>)>;

/// Connects to one address of the endpoint after the other until one of them
/// lets us in, all within the deadline; each gets an equal part of what is left.
/// @param deadline For everything: resolving, connecting, proving; > 0.
/// @returns the attempt; going, it gives up and the callback is not called
/// @pre `is_peer_id(who.id)`; `home` outlives the attempt
[[nodiscard]] door_handle connect(reactor& home, const endpoint& where,
                                  const visitor& who, core::duration deadline,
                                  connect_callback on_done);

/// The same for a Unix socket, where the folder takes the secret's place.
[[nodiscard]] door_handle connect_unix(reactor& home, const std::string& path,
                                       const visitor& who,
                                       core::duration deadline,
                                       connect_callback on_done);

} // namespace actorrun::detail
