// Describes who hosts the coordinator of a job while this node is elected.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/interfaces.hpp"
#include "actors/ports/coordinator_locator.hpp"

#include <memory>

namespace actorrun::detail {

/// Elected by etcd, or by the agents.
class elected_coordinator {
public:
  virtual ~elected_coordinator() = default;

  /// Makes the locator of the agent with this id.
  virtual std::shared_ptr<ports::coordinator_locator>
  locator_for(const agent_id& agent) = 0;

  /// Null while the coordinator is elsewhere.
  virtual rendezvous_coordinator_actor coordinator() const = 0;

  /// An agent of this host has had a coordinator of this job and has not left it, so this
  /// one does not look for the first.
  virtual bool remembers_job() const { return false; }

  /// The agent of this process has ended so.
  virtual void part(const core::ending&) {}

  /// Gives up the leadership and seeks it no more. Returns at once.
  virtual void resign() = 0;

  /// Waits until no callback runs any more.
  virtual void stop() = 0;
};

} // namespace actorrun::detail
