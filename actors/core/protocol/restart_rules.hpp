// Lists what the coordinator's command line says about restarts.
#pragma once

#include "actors/core/end_class.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace actorrun::core {

/// What follows from an end of some class.
enum class end_action : uint8_t {
  usual,   ///< Nothing was said of that class.
  restart, ///< Start again, even where another start seems not to help.
  stop,    ///< The job ends as failed.
  exclude, ///< The host gets no place any more, and the group starts again.
};

/// By default everything is as it is without them.
struct restart_rules {
  /// A host with so many failures that have cost a restart is excluded if enough
  /// others are left; 0: never.
  uint32_t exclude_after = 0;
  /// By class.
  std::array<end_action, end_class_count> actions{};
  /// So many restarts in a row that have brought no new step end the job; 0: never.
  uint32_t idle_restarts_max = 0;
  /// From the second end in a row that is like the one before, the next start waits:
  /// so long, then twice as long each time, up to `backoff_max`. 0: it does not.
  std::chrono::milliseconds backoff_min{0};
  std::chrono::milliseconds backoff_max{0};
  /// A failure costs no restart if the check of its node that follows it fails.
  bool node_failures_are_free = false;

  end_action action_for(end_class x) const {
    return actions[static_cast<size_t>(x)];
  }

  friend bool operator==(const restart_rules&, const restart_rules&) = default;
};

/// `--on-failure=node:exclude`
std::string rule_text(end_class what, end_action action);

} // namespace actorrun::core
