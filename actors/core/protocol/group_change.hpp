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

/// Joins, orders and departures edit facts: this is what follows from them for a
/// generation that runs. The first kind that holds counts, in this order.
struct group_change {
  enum class kind {
    none,
    exclusion, ///< Of a member's host. It happens at the next safe point, …
    surplus,   ///< … as this does: there are more members than the maximum.
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
    return what == kind::exclusion || what == kind::surplus;
  }
};

/// Some agents have succeeded, even if they are gone by now: the job is about to
/// end, and a new generation would throw their work away.
bool is_finishing(const agent_table& agents);

/// For more members.
uint32_t room_in(const agent_table& agents, const job_orders& orders);

/// Nodes that came after the generation had begun, or stood by.
class newcomer_watch {
public:
  void add_arrival(time_point now) { last_arrival_ = now; }

  time_point last_arrival() const { return last_arrival_; }

  /// These may take part now: it is not that they have come.
  void admit(end_reason reason, uint32_t count) {
    admission_ = std::move(reason);
    admitted_count_ = count;
  }

  /// There are none.
  void forget_admission() { admission_ = {}; }

  /// `2 more joined`
  end_reason reason(uint32_t count) const;

  /// They could take part, and it is seen whether more come.
  void begin(time_point now) {
    if (!since_)
      since_ = now;
  }

  void end() { since_.reset(); }

  /// When no more are waited for.
  /// @pre `begin` was called, and not `end`
  time_point settled_at(const timeouts& limits) const;

  /// The generation is revoked for these, or for none.
  void set_let_in(std::vector<agent_id> agents) { let_in_ = std::move(agents); }
  const std::vector<agent_id>& let_in() const { return let_in_; }

private:
  time_point last_arrival_{};
  std::optional<time_point> since_{};
  end_reason admission_{};
  uint32_t admitted_count_ = 0;
  std::vector<agent_id> let_in_{};
};

group_change change_of(const agent_table& agents, const job_orders& orders,
                       const newcomer_watch& newcomers);

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
