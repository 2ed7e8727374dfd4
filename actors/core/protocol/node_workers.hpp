// Starts and stops the workers of a node as generations come and go, and reports how
// they are.
#pragma once

#include "actors/core/protocol/agent_lease.hpp"
#include "actors/core/protocol/coordinator_link.hpp"
#include "actors/core/protocol/generation_share.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// The share of the newest generation does not depend on the link: what it has come
/// to is reported again over the next one.
class node_workers {
public:
  /// All must live as long as this.
  node_workers(membership_step& step, coordinator_link& link,
               const agent_lease& lease, generation_share& share,
               const offer& own)
    : step_(step), link_(link), lease_(lease), share_(share), offer_(own) {}

  /// Workers that run have said how far they are.
  bool has_safe_points() const {
    return safe_point_ && share_.state() == share_state::running;
  }

  /// Newest generation seen.
  generation_id newest() const { return newest_; }

  uint32_t unkillable_count() const { return unkillable_count_; }

  // -- generations --------------------------------------------------------------

  /// Answers for a generation that is over already, unless this is a duplicate.
  /// @returns whether it is not newer than all that were seen
  bool refuse(generation_id generation);

  /// @param is_leaving The agent takes part in no generation any more.
  void take(const generation_plan& plan, bool is_leaving);

  /// If one was announced.
  void begin_next();

  /// Whether the announced generation still has a place for this agent, only a new
  /// announcement can say.
  void forget_next();

  /// None begins here any more.
  void drop_next() { next_.reset(); }

  void on(const generation_revoked& event);
  void start_ahead(const start_ahead_ordered& event);

  // -- what the worker group reports --------------------------------------------

  void on(const group_parked& event);
  /// @pre the group's generation is that of the share, here and below
  void run(const group_started& event);
  void fail(worker_failure failure);
  void succeed();
  void end(const group_stopped& event);
  /// Repeated after a link broke; the failures are older by then.
  void report_end();

  // -- the end ------------------------------------------------------------------

  /// Workers that have been asked to park are to end now.
  void stop(int signal);
  void kill_fenced();

  // -- safe points --------------------------------------------------------------

  void on(const group_safe_point& event);
  void on(const safe_point_ordered& event);
  void on(const limit_near& event);
  void report_safe_points();

private:
  void begin(const generation_plan& plan);
  void park(std::string reason);
  void report_stopped(uint16_t master_port);
  void want_safe_point();

  membership_step& step_;
  coordinator_link& link_;
  const agent_lease& lease_;
  generation_share& share_;
  const offer& offer_;
  generation_id newest_; ///< Older ones are refused.
  /// Begins when the workers of the present generation are gone and the lease is
  /// known to last.
  std::optional<generation_plan> next_;
  /// What the workers of the present generation have answered last. A coordinator
  /// that does not know may have to let them go on.
  std::optional<safe_point_report> safe_point_;
  std::optional<time_point> limit_; ///< Before it the workers are to save.
  uint32_t unkillable_count_ = 0;
  std::optional<uint64_t> step_reached_; ///< By those of the last group.
};

} // namespace actorrun::core
