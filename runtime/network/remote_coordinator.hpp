// A coordinator of another process, for an agent: delivers what it says to the agent
// that has asked it to join.
#pragma once

#include "actors/log.hpp"
#include "runtime/network/link_actor.hpp"

#include <functional>
#include <string>

namespace actorrun::detail {

/// The interface of a coordinator, and what its link says to its actor.
using remote_coordinator_interface
  = extended_interface<rendezvous_coordinator_actor, void(link_ended),
                       void(coordinator_spoke)>;
using remote_coordinator_actor = remote_coordinator_interface::type;

/// The first thing that a coordinator says is that the link is served. What it says
/// before the agent has asked to join has no receiver.
class remote_coordinator final : public link_peer {
public:
  using welcome_taker = std::function<void(rendezvous_coordinator_actor)>;
  using pointer_taker = std::function<void(const std::string& where)>;

  /// @param on_welcome   Called once, when the link is served, …
  /// @param on_elsewhere … or this: the coordinator is there. May be empty.
  /// @pre `system` outlives it
  remote_coordinator(caf::actor_system& system, log lines,
                     welcome_taker on_welcome, pointer_taker on_elsewhere = {});

  void begin(const link_opening& x) override;
  result<bool> take(std::string_view content) override;
  std::string take_answers() override { return {}; }
  void end() override;

private:
  caf::actor_system& system_;
  log lines_;
  welcome_taker on_welcome_; ///< Null: one of the two was called.
  pointer_taker on_elsewhere_;
  remote_coordinator_actor
    actor_; ///< Null before the beginning, and after the end.
  bool has_said_strange_ = false;
};

} // namespace actorrun::detail
