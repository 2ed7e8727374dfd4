// Collects the failures of one generation, and finds its root cause and whether
// that costs a restart.
#pragma once

#include "actors/core/protocol/end_reason.hpp"
#include "actors/core/protocol/failure_order.hpp"

#include <vector>

namespace actorrun::core {

/// The failures of the current generation and the agents that were lost or left
/// while it was being stopped.
///
/// Workers that lose a peer fail, and often the report of that failure arrives
/// before the news about the peer's agent. So a failure is exempt if another
/// agent departed before all workers have stopped. Failures of the departed
/// agent itself and programs that could not be started are never exempt.
class generation_failures {
public:
  /// @param now When the agent's report came in.
  void add(const agent_id& agent, collateral failures, time_point now);

  /// An agent of the generation that had not succeeded has gone.
  /// @param agent Empty: agents of which only the number is known.
  void add_departure(const agent_id& agent, end_reason reason);

  /// The first failure has ended the generation.
  void end_generation() { has_ended_generation_ = true; }
  bool has_ended_generation() const { return has_ended_generation_; }

  /// Workers of a member have outlived SIGKILL.
  void note_unkillable() { is_any_unkillable_ = true; }
  bool is_any_unkillable() const { return is_any_unkillable_; }

  bool empty() const { return failures_.empty(); }

  /// The root cause, as far as it is known.
  /// @pre not empty, as for all below
  const worker_failure& first() const { return failures_.first(); }

  /// The same, aged up to `now`.
  worker_failure first(time_point now) const { return failures_.first(now); }

  /// The others, brief, aged up to `now`.
  collateral others(time_point now) const { return failures_.others(now); }

  /// Why the first failure costs no restart: the newest departure of another
  /// agent. Null: it costs one.
  const end_reason* exemption() const;

  void clear() { *this = {}; }

private:
  struct departure {
    agent_id agent;
    end_reason reason;
  };

  failure_order failures_;
  std::vector<departure> departures_;
  bool has_ended_generation_ = false;
  bool is_any_unkillable_ = false;
};

} // namespace actorrun::core
