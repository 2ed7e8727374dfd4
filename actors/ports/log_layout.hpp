// EXTENSION POINT: decides where the logs of each generation lie on this node.
// Torch calls this logs specs. runtime/ has torchrun's layout; programs that embed
// a launcher may have their own.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "messages/result.hpp"

namespace actorrun::ports {

class log_layout {
public:
  virtual ~log_layout() = default;

  /// Makes the folders for a generation that is about to start. Called once per
  /// generation, from one thread at a time; may block for as long as a file system
  /// takes. Must not touch what earlier generations have written.
  /// @returns as many workers as `plan.own.slot_count`
  /// @retval errc::log_failed  a folder cannot be made; the text names it
  virtual result<core::generation_outputs>
  prepare(const core::generation_plan& plan) = 0;
};

} // namespace actorrun::ports
