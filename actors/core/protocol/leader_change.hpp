// Describes how an agent has come to lead its job, where agents or etcd elect the
// leader.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <string>

namespace actorrun::core {

/// Who has elected a leader.
enum class leader_source : uint8_t { voters, registry };

/// Why there is a new leader, as far as that one knows.
struct leader_change {
  enum class kind : uint8_t {
    began,  ///< The job has begun with it.
    silent, ///< The last one was silent, so the promises to it have lapsed.
    ended,  ///< A machine has proved that the last one has ended.
    handed_over, ///< The last one wanted it.
    asked,       ///< An operator did.
    expired,     ///< The last one's lease in etcd was over, or it had left.
    ordered,     ///< An operator has given up voters that are lost.
  };

  kind what = kind::began;
  agent_id from{};       ///< The last leader; empty: none is known.
  duration silent_for{}; ///< Of `silent`; 0: unknown.
  std::string
    reason{}; ///< Of `handed_over`; of `asked` and `ordered` who. One line, or empty.

  friend bool operator==(const leader_change&, const leader_change&) = default;
};

/// For people: `n1-4711 was silent for 400.0 ms`.
/// @param now The new leader; it may be the last one, too.
std::string to_string(const leader_change& x, const agent_id& now);

std::string to_string(leader_source x);

} // namespace actorrun::core
