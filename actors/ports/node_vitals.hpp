// Samples how this node and its workers are doing.
#pragma once

#include "actors/core/vitals/node_vitals.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace actorrun::ports {

/// All calls return at once. Does nothing on its own: a node that is not asked
/// spends no time on it.
class node_vitals {
public:
  using listener = std::function<void(core::node_vitals now)>;

  virtual ~node_vitals() = default;

  /// The workers of a generation are about to write to these files.
  virtual void follow(generation_id generation,
                      const core::generation_outputs& outputs)
    = 0;

  /// Calls back once, on any thread, or never if this machine hangs. The listener
  /// must not block.
  /// @param generation That of the workers; 0: there are none.
  /// @param pids  Of the workers, by local rank. Those that have ended, or are
  ///              no child processes of this one, are left out.
  virtual void sample(generation_id generation,
                      const std::vector<int64_t>& pids, listener on_answer)
    = 0;
};

} // namespace actorrun::ports
