// The agent's way to a coordinator that etcd names: by the door where it is
// elsewhere, and without it where it is in this process.
#pragma once

#include "messages/result.hpp"
#include "runtime/etcd/leadership.hpp"
#include "runtime/network/coordinator_link.hpp"
#include "runtime/options.hpp"
#include "runtime/os/socket_address.hpp"

#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

class etcd_locator final : public ports::coordinator_locator {
public:
  /// @param here Gives the coordinator in this process; its handle is null if
  ///             it has gone meanwhile.
  etcd_locator(std::shared_ptr<etcd_leadership> leadership,
               std::shared_ptr<coordinator_link> door,
               std::function<ports::location()> here)
    : leadership_(std::move(leadership)), door_(std::move(door)),
      here_(std::move(here)) {}

  void seek(listener on_result) override;
  void drop() override { door_->drop(); }

private:
  std::shared_ptr<etcd_leadership> leadership_;
  std::shared_ptr<coordinator_link> door_;
  std::function<ports::location()> here_;
};

struct coordinator_location {
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
result<coordinator_location>
coordinator_location_of(const std::string& announced, const std::string& seen,
                        const endpoint& registry);

/// Reads `host:port`, with brackets around an IPv6 address.
/// @retval errc::not_actorrun  it is none: somebody else has written there
result<endpoint> endpoint_of(const std::string& text);

} // namespace actorrun::detail
