// Locates the coordinator that etcd has elected: over a link if it is
// elsewhere, directly if it is in this process.
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
  ///             it has ended meanwhile.
  etcd_locator(std::shared_ptr<etcd_leadership> leadership,
               std::shared_ptr<coordinator_link> link,
               std::function<ports::location()> here)
    : leadership_(std::move(leadership)), link_(std::move(link)),
      here_(std::move(here)) {}

  void seek(bool was_member, listener on_result) override;
  void seek_second_way(std::function<void()> on_found) override {
    link_->seek_second_way(std::move(on_found));
  }
  void forget_second_way() override { link_->forget_second_way(); }
  void drop() override { link_->drop(); }

private:
  std::shared_ptr<etcd_leadership> leadership_;
  std::shared_ptr<coordinator_link> link_;
  std::function<ports::location()> here_;
};

struct coordinator_location {
  std::string host;     ///< Published to other nodes.
  socket_address where; ///< With port 0: the system chooses.
};

/// @param announced The address that the user gives for this node; may be
///   empty.
/// @param seen      This node's address on its connection to etcd.
/// @param registry  Where etcd is. If it is on this very host, `seen` may be
///                  loopback, which is useless to other nodes; they know the
///                  host by the name that etcd has, if it has one.
/// @retval errc::unresolvable  a name has no address
/// @retval errc::cannot_listen there is no address at all
result<coordinator_location>
coordinator_location_of(const std::string& announced, const std::string& seen,
                        const endpoint& registry);

/// Reads `host:port`, with brackets around an IPv6 address.
/// @retval errc::not_actorrun  it is not; another program has written the entry
result<endpoint> endpoint_of(const std::string& text);

} // namespace actorrun::detail
