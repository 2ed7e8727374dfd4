// Runs the commands that check a node.
#pragma once

#include "actors/core/checks/node_checks.hpp"

#include <functional>

namespace actorrun::ports {

/// EXTENSION POINT. A CHECK RUNNER runs one command at a time.
class check_runner {
public:
  virtual ~check_runner() = default;

  /// Returns at once and runs the command meanwhile. What it has started is killed
  /// with it: at its end, when its time is over, and with this runner.
  /// @param on_end Is called once, on any thread; never when the runner is gone.
  /// @pre the last one has ended
  virtual void run(const core::run_check& what,
                   std::function<void(core::check_ended)> on_end)
    = 0;
};

} // namespace actorrun::ports
