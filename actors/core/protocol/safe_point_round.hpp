// Brings the workers of all nodes to one step, so that a change loses none.
#pragma once

#include "actors/core/safe_point.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <optional>
#include <set>
#include <vector>

namespace actorrun::core {

/// First all workers hold, and say at which step each can still stop. Then all go on
/// to the largest of these, which none has gone past, and wait there.
///
/// That they hold first is what makes it exact: otherwise some might go past the step
/// while the others are told of it.
class safe_point_round {
public:
  enum class progress {
    none,
    all_hold,  ///< `order()` says where they are to stop: tell them.
    all_there, ///< The change may happen.
    refused,   ///< It cannot be: some workers cannot be told anything.
  };

  bool is_active() const { return is_active_; }

  /// All members hold, and have been told where they stop.
  bool has_step() const { return step_.has_value(); }

  /// What the members have been told last; `go_on` if it is not active.
  safe_point_order order() const;

  /// @pre it is not active
  void begin(const std::vector<agent_id>& members, time_point now);

  /// @pre it is active
  time_point began() const { return began_; }

  void end();

  /// @pre it is active
  progress take(const agent_id& member, const safe_point_report& report);

  /// The workers of this member have all succeeded: they need not stop.
  /// @pre it is active
  progress leave(const agent_id& member);

private:
  progress advance();

  bool is_active_ = false;
  time_point began_{};
  uint64_t number_ = 0; ///< Of the latest.
  std::set<agent_id> members_;
  std::set<agent_id> waiting_; ///< Members that have not answered.
  uint64_t largest_ = 0;
  std::optional<uint64_t> step_;
};

} // namespace actorrun::core
