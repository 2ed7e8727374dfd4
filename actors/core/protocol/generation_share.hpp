// Records what an agent runs of the newest generation that it has begun.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"

#include <optional>

namespace actorrun::core {

/// The agent's share of a generation: its plan, how far its workers are, and which
/// of them have failed. All ages that it returns count up to the time of the
/// call.
///
///  idle -> starting -> running -> succeeded
///   ^          |          |  \       |  newer generation: starting
///   |          +----------+-> failed |
///   |               revoked, fenced  |
///   +------------- stopping <--------+
class generation_share {
public:
  /// The plan of the generation it has, or last had. Workers that were started ahead
  /// have none.
  const std::optional<generation_plan>& plan() const { return plan_; }

  share_state state() const { return state_; }

  /// That generation, or the one that ran when workers were started ahead; 0 before
  /// the first.
  generation_id generation() const {
    return is_ahead() ? ahead_of_ : plan_ ? plan_->generation : generation_id{};
  }

  bool holds(generation_id generation) const {
    return (plan_ || is_ahead()) && this->generation() == generation;
  }

  /// Whether its workers, if there are any, were started ahead.
  bool is_ahead() const { return ahead_of_ != generation_id{}; }

  /// True until it is certain that no worker runs.
  bool may_run() const;

  /// True while all workers are wanted: `starting` or `running`.
  bool is_active() const {
    return state_ == share_state::starting || state_ == share_state::running;
  }

  /// Takes over the next generation.
  /// @pre `!may_run()`
  void begin(const generation_plan& plan);

  /// Workers are started that wait for their first generation: as those that are to
  /// park.
  /// @pre `!may_run()`
  void begin_ahead(generation_id running);

  void set_state(share_state x) { state_ = x; }

  /// A worker has failed, which ends the share.
  /// @param failure Aged up to `now`.
  void fail(const worker_failure& failure, time_point now);

  /// Adds failures that are not the first.
  /// @param failures Aged up to `now`.
  void add(collateral failures, time_point now);

  /// No worker runs any more. A failure stays until a newer generation begins or
  /// the coordinator has revoked this one.
  void end();

  /// All failures that were added.
  collateral others(time_point now) const;

  /// What this agent claims to hold when it joins.
  /// @param is_fenced The workers have been killed, or will be in a moment.
  /// @returns none before the first generation
  std::optional<claim> held(bool is_fenced, time_point now) const;

private:
  std::optional<generation_plan> plan_;
  generation_id ahead_of_; ///< 0: its workers are those of the plan.
  share_state state_ = share_state::idle;
  bool has_ended_ = false; ///< Though the share has failed.
  std::optional<worker_failure> failure_;
  collateral others_;
  time_point aged_at_{}; ///< When the ages of these failures were right.
};

} // namespace actorrun::core
