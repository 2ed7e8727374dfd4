// Where operators of this host come in: a Unix socket in the run-time folder.
#pragma once

#include "actorrun/messages/result.hpp"
#include "actorrun/runtime/detail/door.hpp"
#include "actorrun/runtime/detail/run_folder.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

namespace actorrun::detail {

class operator_door {
public:
  /// Lets operators speak to `actor`. Removes the socket when it goes, and the
  /// folder if that was the last one.
  /// @retval errc::cannot_listen  there is no private folder, or no socket in it
  static result<operator_door> open(caf::actor_system& system, reactor& home,
                                    const job_id& job,
                                    caf::strong_actor_ptr actor,
                                    socket_role role);

  operator_door(operator_door&&) noexcept = default;
  operator_door& operator=(operator_door&&) = delete;
  ~operator_door();

private:
  operator_door(run_folder folder, door_listener listener)
    : folder_(std::move(folder)), listener_(std::move(listener)) {}

  std::optional<run_folder> folder_;
  std::optional<door_listener> listener_;
};

} // namespace actorrun::detail
