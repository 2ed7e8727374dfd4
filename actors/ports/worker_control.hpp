// Carries what an agent and its live workers tell each other. runtime/ has the
// real implementation, tests have a fake.
#pragma once

#include "actors/core/workers/worker_talk.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun::ports {

/// A worker that may speak.
struct controlled_worker {
  uint32_t local_rank = 0;
  int64_t pid = 0; ///< Of the leader of its session.
};

/// What a worker has said.
struct worker_message {
  uint32_t local_rank = 0;
  int64_t pid = 0; ///< As in `controlled_worker`.
  core::worker_word word;
};

/// EXTENSION POINT. A WORKER CONTROL is a socket that workers may connect to. Whose
/// a connection is, the kernel says: the worker is the leader of the session that
/// the process which made the connection belongs to. A worker has one at a time.
/// All calls return at once.
class worker_control {
public:
  /// Called on a thread of the control's own, in the order of what was said; must
  /// not block. The first word of a connection is `said_hello`, the last `hung_up`.
  using listener = std::function<void(worker_message)>;

  virtual ~worker_control() = default;

  /// Where workers find it, for ACTORRUN_CONTROL: an absolute path.
  virtual std::string address() const = 0;

  /// @pre called once, before the others
  virtual void listen(listener on_word) = 0;

  /// Only these may speak from now on: the connections of others are closed, except
  /// for new ones, which wait a while for their worker to be admitted.
  virtual void admit(std::vector<controlled_worker> workers) = 0;

  /// Does nothing if the worker has no connection.
  virtual void tell(uint32_t local_rank, core::worker_order order) = 0;
};

} // namespace actorrun::ports
