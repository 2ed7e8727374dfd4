// Knows how far a job is: between two generations, in one, or over.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/rendezvous_phase.hpp"
#include "actors/core/protocol/rendezvous_step.hpp"

#include <optional>

namespace actorrun::core {

/// The phase of a job, and its end: what was decided is written where the next
/// coordinator looks, if there is such a place, then told to all agents, and the job is
/// closed when they have gone, or have had time.
class job_course {
public:
  using phase = rendezvous_phase;

  /// All must live as long as this.
  job_course(rendezvous_step& step, const timeouts& limits,
             const agent_table& agents)
    : step_(step), limits_(limits), agents_(agents) {}

  phase current() const { return phase_; }
  bool is(phase x) const { return phase_ == x; }
  void enter(phase x) { phase_ = x; }

  /// A generation starts or runs.
  bool is_active() const { return is(phase::starting) || is(phase::running); }

  /// The workers that run can be brought to one step. O(agents).
  bool has_safe_points() const;

  // -- the end ------------------------------------------------------------------

  /// An earlier coordinator may have decided it.
  void begin(const coordinator_started& event);

  /// Set in phase `ended`.
  const std::optional<outcome>& result() const { return result_; }

  /// It was decided before this coordinator began.
  bool was_over() const { return was_over_; }

  bool is_closed() const { return is_closed_; }

  /// @pre it has not ended
  void end(outcome result);
  void on(const outcome_written&);

  /// To an agent that has joined since.
  void report_end(const agent_id& agent);

  /// When no agent is left.
  /// @pre it has ended
  void close_if_empty();
  void on_close_due();

private:
  using alarm = rendezvous_alarm;

  void close();

  rendezvous_step& step_;
  const timeouts& limits_;
  const agent_table& agents_;
  phase phase_ = phase::gathering;
  std::optional<outcome> result_;
  bool was_over_ = false;
  bool writes_
    = false; ///< It must be known elsewhere before any agent acts on it.
  bool is_told_ = false; ///< To all agents that were here then.
  bool is_closed_ = false;
};

} // namespace actorrun::core
