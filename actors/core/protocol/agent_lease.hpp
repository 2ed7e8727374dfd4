// Keeps the times of an agent's lease: when it speaks, and how long its workers may
// run without an answer.
#pragma once

#include "actors/core/failure.hpp"
#include "actors/core/time.hpp"

#include <algorithm>
#include <optional>

namespace actorrun::core {

/// A keep-alive is asked for, proved (the workers can be ended), sent, repeated
/// until it is answered, and answered. One at a time is on its way: where only the
/// way to this node is cut, each further one would lengthen the lease and not the
/// fence (decision 0025).
///
/// The fence runs from the sending of the last keep-alive that was answered, or of
/// the join request, minus the age of the answer. Before the first coordinator has accepted the agent there is
/// none. The coordinator's lease runs from receiving it, and longer. So the workers
/// here are dead before others can take their place.
class agent_lease {
public:
  /// From a keep-alive that was answered to the end of the workers; 0: none yet.
  duration fence() const { return fence_; }

  /// Likewise, by an answer of that age, >= 0.
  duration fence_of(duration age) const {
    return std::max(fence_ - age, duration::zero());
  }

  time_point due() const { return due_; }
  bool is_over(time_point now) const { return now >= due_; }

  /// Without keep-alives the coordinator's own process is this one.
  bool has_keep_alives() const { return interval_ > duration::zero(); }

  // -- it begins and is extended ------------------------------------------------

  void ask_to_join(time_point now) { join_sent_ = now; }

  /// @param interval Between keep-alives; 0: none are sent, and no fence falls.
  /// @param age Of the acceptance, >= 0. @see lease_granted
  /// @param may_run Workers may: those whose fence has passed are dead, and no
  ///        acceptance revives them.
  void begin(duration interval, duration fence, duration age, bool may_run,
             time_point now);

  /// The coordinator needed longer than a keep-alive has.
  bool was_joining_slow(time_point now) const {
    return now > join_sent_ + interval_;
  }

  /// @returns whether it lasts longer now: what is over is not extended while
  ///          workers may run
  bool extend(time_point due, bool may_run, time_point now);

  // -- the fence falls ----------------------------------------------------------

  /// The machine has ended the workers then.
  void end_at(time_point due) { due_ = due; }

  /// A busy coordinator may need longer than the fence to accept an agent, and
  /// workers that have been killed may need longer to end: the last answer counts for
  /// as long as a fence.
  /// @param running Whose workers may run; none: no workers.
  /// @returns until when there is nothing to do; none: those workers have to end now,
  ///          and so has the link
  std::optional<time_point> holds_until(std::optional<generation_id> running,
                                        bool is_joined, time_point now) const;

  /// The workers of this generation are killed.
  void kill(generation_id generation) { killed_ = generation; }

  /// Past the fence the machine kills the workers, even if this process slept: an
  /// ordered death.
  bool has_killed(const worker_failure& x, time_point now) const;

  // -- keep-alives --------------------------------------------------------------

  /// The proof that it needs is asked for.
  void ask_for_proof(time_point now) { asked_ = now; }

  /// A late answer proves no more than that workers could be stopped after the
  /// question.
  /// @returns whether a keep-alive is to be sent, with the time of the question
  bool take_proof(time_point asked);

  /// When the next keep-alive is due.
  time_point next_due() const { return next_due_; }

  struct beat {
    std::optional<time_point> repeated{}; ///< Send this one again.
    bool is_proof_due = false;
    time_point next{}; ///< Of the following beat.
  };
  beat take_beat(time_point now);

  /// How soon a keep-alive without an answer is repeated: every repetition makes
  /// TCP notice what was lost before it, so there are several before the fence
  /// falls.
  duration repeat_after() const;

  /// @param sent A time to come was sent by no keep-alive.
  /// @returns whether this was the one on its way
  bool take_answer(time_point sent, time_point now);

  /// The next one has waited for that answer.
  bool take_overdue();

  /// Half of the fence has passed without an answer, and the keep-alive that is on
  /// its way was repeated.
  bool is_silent(time_point now) const;

private:
  duration interval_{0};
  duration fence_{0};
  time_point due_ = time_point::max();
  time_point join_sent_{};
  time_point answered_at_{};
  time_point next_due_{};
  std::optional<time_point> asked_;      ///< For a proof, and not answered yet.
  std::optional<time_point> unanswered_; ///< When that keep-alive was proved.
  bool is_overdue_ = false;
  generation_id killed_; ///< The last whose fence has fallen.
};

} // namespace actorrun::core
