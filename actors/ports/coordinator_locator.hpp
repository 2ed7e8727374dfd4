// Connects an agent to its coordinator.
#pragma once

#include "messages/result.hpp"

#include <caf/actor_control_block.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::ports {

/// A link that is up.
struct location {
  caf::strong_actor_ptr coordinator;
  std::string local_address; ///< The one this node is seen at; may be empty.
  /// Port at which this machine says when the process has ended; 0: none.
  uint16_t liveness_port = 0;
};

/// Reaches the coordinator of one job, wherever it runs. At most one attempt
/// and one link at a time.
class coordinator_locator {
public:
  /// Called once per attempt, on any thread; must not block.
  using listener = std::function<void(result<location>)>;

  virtual ~coordinator_locator() = default;

  /// Tries once, within the time-out it was made with; returns at once.
  /// @param was_member  a coordinator of this job has accepted this agent before
  /// @retval errc::coordinator_gone      the last one has ended, and its machine
  ///                                     proves it; nothing else is a proof
  /// @retval errc::connection_refused    something answers that no process listens
  /// @retval errc::connection_timed_out  nothing came back in time
  /// @retval errc::unresolvable          the host name has no address
  /// @retval errc::connection_failed     the system refused
  /// @retval errc::not_actorrun          another program listens there
  /// @retval errc::protocol_mismatch, errc::job_mismatch,
  ///         errc::secret_mismatch, errc::user_mismatch,
  ///         errc::certificate_mismatch  one side refuses the other
  /// @retval errc::job_over              the job has ended, and `was_member`
  virtual void seek(bool was_member, listener on_result) = 0;

  /// Cuts the link; the coordinator's handle then goes down. Nothing happens
  /// without a link.
  virtual void drop() = 0;
};

} // namespace actorrun::ports
