// Says who is at the two ends of a link.
#pragma once

#include "messages/shared_text.hpp"

#include <cstdint>
#include <string>

namespace actorrun::detail {

/// Which side of a connection one is.
enum class link_side { client, server };

/// The ends of an agent's link, whose handshake was accepted.
struct link_ends {
  link_side mine = link_side::client;
  shared_text client_id; ///< The agent's, as in its hello.
  /// The name of our actor system, as the frames of the wire have it.
  shared_text own_node{};
  /// The actor that a server offers; 0 at the client's side.
  uint64_t served = 0;
};

} // namespace actorrun::detail
