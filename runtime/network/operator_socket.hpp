// Where operators of this host come in: a Unix socket in the run-time folder.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/network/run_folder.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

#include <memory>

namespace actorrun::detail {

class operator_socket {
public:
  /// Lets operators speak to `actor`. Removes the socket when it goes, and the
  /// folder if that was the last one.
  /// @retval errc::cannot_listen  there is no private folder, or no socket in it
  static result<operator_socket> open(caf::actor_system& system, reactor& home,
                                      const job_id& job,
                                      caf::strong_actor_ptr actor,
                                      socket_role role);

private:
  struct parts;
  explicit operator_socket(std::shared_ptr<parts> x) : parts_(std::move(x)) {}

  std::shared_ptr<parts> parts_;
};

} // namespace actorrun::detail
