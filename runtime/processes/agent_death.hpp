// Does what is left to the warden when its agent has ended: ends the workers,
// then says that the agent and the coordinator have ended to all who ask.
#pragma once

#include "runtime/processes/warden_process.hpp"

#include <array>

namespace actorrun::detail {

/// The other warden of the table, as one of them sees it.
struct companion {
  warden_role own_role = warden_role::first;
  int pidfd = -1; ///< -1: there is none.
};

/// Kills the groups of the table, and all in the control group of the workers if
/// there is one, until no process of theirs runs. From then on
/// the agent's statement is offered, for `linger`; the coordinator's from the
/// beginning, as long as a client has asked for it within the last `linger`,
/// at most for `linger_max`. A client that sends the coordinator's release
/// request gets its port. Returns at the end of all that; at once, if there are
/// no sockets. Async-signal-safe.
///
/// The second of two wardens only kills, as long as the first lives. The first ends
/// the second before it says or gives away anything: both hold the sockets.
/// @param sockets By `kept_socket`; -1: none. They do not block.
void handle_agent_death(warden_table& table,
                        std::array<int, kept_socket_count> sockets,
                        companion other = {});

} // namespace actorrun::detail
