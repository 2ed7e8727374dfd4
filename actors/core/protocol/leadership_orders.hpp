// Lists what every source of leadership orders, whoever votes: etcd, or the agents.
#pragma once

#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/leader_change.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <string>

namespace actorrun::core {

/// Start a coordinator that other nodes can reach.
struct open_coordinator {
  bool successor = false;
  uint32_t terms_before = 0; ///< As far as the source knows.
  charter known{};           ///< What earlier ones have left behind.
  /// For so long no other has been confirmed as the leader: what an earlier one has
  /// granted counts from then at the latest.
  duration silence{0};
  leader_change change{}; ///< Why it leads.
};

/// The coordinator may decide until `due`, and never later.
struct set_leadership_end {
  time_point due;
};

/// End the coordinator and close everything that leads to it.
struct close_coordinator {
  std::string reason;
};

} // namespace actorrun::core
