// Compares the group that runs with the one that is wanted.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/end_reason.hpp"
#include "actors/core/protocol/job_orders.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::core {

class newcomers;

/// Joins, orders and departures edit facts: this is what follows from them for a
/// generation that runs. The first kind that holds counts, in this order.
struct group_change {
  enum class kind {
    none,
    exclusion, ///< Of a member's host. It happens at the next safe point, …
    /// … as this does: a member can take no part any more, and enough others are here;
    unfitness,
    surplus, ///< and this: there are more members than the maximum.
    /// A member is to leave. It ends the generation itself if there is no safe point
    /// before.
    drain,
    /// There is room for nodes that have come. It happens when they have settled.
    newcomers,
  };

  kind what = kind::none;
  end_reason reason{};

  /// It need not wait for anything but a safe point.
  bool is_due() const {
    return what == kind::exclusion || what == kind::unfitness
           || what == kind::surplus;
  }
};

/// Some agents have succeeded, even if they are gone by now: the job is about to
/// end, and a new generation would throw their work away.
bool is_finishing(const agent_table& agents);

/// For more members.
uint32_t room_in(const agent_table& agents, const job_orders& orders);

group_change change_of(const agent_table& agents, const job_orders& orders,
                       const newcomers& arrived);

/// Why workers are asked for a step though nothing changes: they are to save before
/// the time of the job is over.
class save_request {
public:
  /// Each node tells of the limit, one a little later than another.
  void want(time_point limit);

  const std::optional<time_point>& limit() const { return limit_; }

  /// It has passed.
  void drop() { limit_.reset(); }

  /// They have saved, or cannot.
  /// @returns whether they were asked to
  bool settle();

private:
  std::optional<time_point> limit_;
  std::optional<time_point> settled_;
};

} // namespace actorrun::core
