// Connects an agent to its coordinator.
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <caf/actor_control_block.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace actorrun::ports {

/// A link that is up.
struct location {
  caf::strong_actor_ptr coordinator;
  std::string local_address; ///< The one this node is seen at; may be empty.
  /// Port at which this machine says when the process has ended; 0: none.
  uint16_t liveness_port = 0;
  bool is_remote = false; ///< The coordinator is in another process.
  uint16_t voter_port
    = 0; ///< Where this process answers as a voter; 0: nowhere.
  /// The coordinator is there, and who has answered knows it; a locator follows. Empty
  /// in what it returns.
  std::string elsewhere{};
};

/// Reaches the coordinator of one job, wherever it runs. At most one attempt
/// and one link at a time, and beside that link a second way.
class coordinator_locator {
public:
  /// Called once per attempt, on any thread; must not block.
  using listener = std::function<void(result<location>)>;

  virtual ~coordinator_locator() = default;

  /// Connects to the coordinator of the link once more, beside it, again and again until
  /// that succeeds: the link may be one that a network has forgotten, or whose lost
  /// packets TCP repeats late. The next `seek` makes the link of what was found. Nothing
  /// happens without a link, or if it is being tried already.
  /// @param on_found Called at most once, when the coordinator has proved itself there;
  ///                 on any thread, must not block.
  virtual void seek_second_way(std::function<void()> on_found) = 0;

  /// Ends that, and closes what was found.
  virtual void forget_second_way() = 0;

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

  /// These know where the coordinator is, by id.
  virtual void know_voters(const std::map<agent_id, std::string>&) {}

  /// Cuts the link; the coordinator's handle then goes down. Nothing happens
  /// without a link.
  virtual void drop() = 0;
};

} // namespace actorrun::ports
