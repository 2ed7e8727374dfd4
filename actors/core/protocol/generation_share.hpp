// Records what an agent runs of the newest generation that it has begun.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"

#include <optional>
#include <utility>

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
///
/// Workers that are parked belong to no generation: neither the fence nor a newer
/// generation concerns them. They go on with the next generation that has a place
/// for this agent, and end when it leaves.
///
/// Workers that are started ahead of their first generation are the same from the
/// beginning: as if they had been ordered to park. They end if the link does, since
/// no other coordinator knows of them.
class generation_share {
public:
  /// The plan of the generation it has, or last had. Workers that were started ahead
  /// have none.
  const std::optional<generation_plan>& plan() const { return plan_; }

  share_state state() const;

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

  /// Those that run, and those that are parked: false when the agent can leave.
  bool has_workers() const { return may_run() || !parked_.is_empty(); }

  /// True while all workers are wanted: `starting` or `running`.
  bool is_active() const {
    return phase_ == phase::starting || phase_ == phase::running;
  }

  /// While the share runs nothing.
  const parked_share& parked() const { return parked_; }
  void set_parked(parked_share x) { parked_ = std::move(x); }

  /// Takes over the next generation.
  /// @pre `!may_run()`
  void begin(const generation_plan& plan);

  /// Workers are started that wait for their first generation: as those that are to
  /// park.
  /// @pre `!may_run()`
  void begin_ahead(generation_id running);

  void run() { phase_ = phase::running; }
  void succeed() { phase_ = phase::succeeded; }

  /// A worker has failed, which ends the share.
  /// @param failure Aged up to `now`.
  void fail(const worker_failure& failure, time_point now);

  /// Adds failures that are not the first.
  /// @param failures Aged up to `now`.
  void add(collateral failures, time_point now);

  /// The workers are to stop, or to park: unless they have been told to stop before.
  void park();

  /// @returns whether they have not been told before: those that have been asked to
  ///          park are to end, too
  bool stop();

  /// The workers are killed. Those that are ending go on with that.
  void kill();

  /// Another generation counts: what this one has come to is nothing any more.
  void revoke();

  /// No worker runs any more. A failure stays until a newer generation begins or
  /// the coordinator has revoked this one.
  void end(parked_share parked);

  /// All failures that were added.
  collateral others(time_point now) const;

  /// What this agent claims to hold when it joins.
  /// @param is_fenced The workers have been killed, or will be in a moment.
  /// @returns none before the first generation
  std::optional<claim> held(bool is_fenced, time_point now) const;

private:
  /// What `share_state` shows, and how far an end is.
  enum class phase {
    idle,
    starting,
    running,
    succeeded,
    failing, ///< A worker has failed, and the others end or park.
    failed,  ///< They have.
    parking, ///< They have been ordered to stop, or to park.
    stopping,
  };

  std::optional<generation_plan> plan_;
  generation_id ahead_of_; ///< 0: its workers are those of the plan.
  phase phase_ = phase::idle;
  parked_share parked_;
  std::optional<worker_failure> failure_;
  collateral others_;
  time_point aged_at_{}; ///< When the ages of these failures were right.
};

} // namespace actorrun::core
