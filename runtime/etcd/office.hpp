// Where a coordinator listens that etcd names, and how that is written.
#pragma once

#include "messages/result.hpp"
#include "runtime/options.hpp"
#include "runtime/os/socket_address.hpp"

#include <string>

namespace actorrun::detail {

struct office_place {
  std::string host;     ///< What others are told.
  socket_address where; ///< With port 0: the system chooses.
};

/// @param announced What the user says others reach this node at; may be empty.
/// @param seen      This node's address on its connection to etcd.
/// @param registry  Where etcd is. If it is on this very host, `seen` may be
///                  loopback, which is of no use to others; they know the host
///                  by the name that etcd has, if it has one.
/// @retval errc::unresolvable  a name has no address
/// @retval errc::cannot_listen there is no address at all
result<office_place> office_place_of(const std::string& announced,
                                     const std::string& seen,
                                     const endpoint& registry);

/// Reads `host:port`, with brackets around an IPv6 address.
/// @retval errc::not_actorrun  it is none: somebody else has written there
result<endpoint> endpoint_of(const std::string& text);

} // namespace actorrun::detail
