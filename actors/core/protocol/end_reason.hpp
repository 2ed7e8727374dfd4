// Says why a generation ends if its workers have not failed.
#pragma once

#include "actors/core/end_class.hpp"
#include "actors/core/generation.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// Who brought it about, as the protocol knows it: no text is read for it.
struct end_origin {
  enum class kind : uint8_t {
    node_left,      ///< Its agent was asked to end, or has ended its share.
    node_lost,      ///< Its agent has died, or was silent.
    node_cut_off,   ///< Its agent has stopped its workers, out of touch.
    operator_asked, ///< For another generation, or for other nodes in it.
  };

  kind what = kind::operator_asked;
  agent_id agent{};     ///< Of the node; empty: an operator has asked.
  int signal = 0;       ///< That made the agent leave; 0: none.
  std::string by{};     ///< The operator; empty: none.
  std::string detail{}; ///< Of a node that was lost: `silent for 1200 ms`.

  friend bool operator==(const end_origin&, const end_origin&) = default;
};

struct end_reason {
  std::string text{}; ///< For people, one line; empty: there is no reason.
  /// None: a worker has failed, or nodes have joined.
  std::optional<end_origin> origin{};
  end_finding finding{};      ///< Of an end that no worker's failure explains.
  bool at_safe_point = false; ///< All workers have come to one step for it.

  bool empty() const { return text.empty(); }

  friend bool operator==(const end_reason&, const end_reason&) = default;
};

/// Who wants a node to leave.
struct leave_order {
  std::string by{}; ///< Empty: it leaves by itself.
  bool is_notice
    = false; ///< Its machine is about to go; otherwise an operator.
  /// `--on-gpu-fault` has decided it, because of this; empty: it has not.
  std::string gpu_trouble{};
};

struct agent_record;

/// Of a node that is drained; else nothing.
leave_order order_to_leave(const agent_record& x);

/// `agent n2-4711-0badcafe leaves (signal 15)`
end_reason agent_leaves(const agent_id& agent, int signal,
                        const leave_order& order);

/// `agent n2-4711-0badcafe left`
end_reason agent_has_left(const agent_id& agent, const leave_order& order);

/// `agent n2-4711-0badcafe lost: silent for 1200 ms`
end_reason agent_is_lost(const agent_id& agent, const std::string& evidence);

/// `agent n2-4711-0badcafe ended`: one in the coordinator's own process.
end_reason agent_has_ended(const agent_id& agent);

/// `agent n2-4711-0badcafe stopped its workers, out of touch`
/// @param has_stopped Otherwise it is about to.
end_reason agent_was_cut_off(const agent_id& agent, bool has_stopped);

/// A node of the generation can take no part: `its check … has failed`.
end_reason node_is_unfit(const std::string& title, const std::string& unfit);

/// @param by The operator; empty: none.
end_reason asked_for(std::string text, const std::string& by);

/// Of a node whose machine is about to go.
end_reason noticed(std::string text, const std::string& by);

} // namespace actorrun::core
