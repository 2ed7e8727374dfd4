// Spends the job's restarts, on worker failures only.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/protocol/end_row.hpp"
#include "actors/core/protocol/restart_rules.hpp"
#include "actors/core/protocol/step_row.hpp"

#include <cstdint>
#include <string>

namespace actorrun::core {

/// Decides what a worker failure leads to.
///
/// However many workers of one generation fail, one restart answers them all, so
/// they cost one. A start that can never succeed is not repeated, unless a rule says
/// so.
class restart_policy {
public:
  enum class answer {
    restart,    ///< One restart has been spent; run the group again.
    collateral, ///< The generation's failure has been counted already, by this
                ///< coordinator or by an earlier one.
    give_up, ///< Nothing is left, another try cannot help, or a rule says so.
  };

  /// @param restart_count_max Restarts the job may spend; 0 for none.
  explicit restart_policy(uint32_t restart_count_max, restart_rules rules = {})
    : restart_count_max_(restart_count_max), rules_(rules), row_(rules) {}

  /// @param generation In which the worker failed.
  /// @param what       Its class.
  answer on_failure(generation_id generation, const worker_failure& failure,
                    end_class what = end_class::program);

  /// A generation has ended whose failure must show first that it costs something.
  void defer() { steps_.ended(); }

  /// That has shown: as `on_failure`, also if a later one was charged meanwhile.
  answer charge(generation_id generation, const worker_failure& failure,
                end_class what);

  /// Why it has given up although a restart was left and another try might help:
  /// `--on-failure=program:stop`; empty: one of these was so.
  std::string why_given_up() const;

  /// That is because the last restarts brought no new step.
  bool is_without_progress() const {
    return rules_.idle_restarts_max > 0
           && steps_.idle_count() >= rules_.idle_restarts_max;
  }

  /// Takes over what an earlier coordinator had spent; never lowers the count.
  /// @param charged The newest generation whose failure has cost one of these;
  ///                0: unknown.
  void restore(uint32_t restart_count, generation_id charged);

  /// The job may spend so many, whatever the command line says.
  void set_maximum(uint32_t restart_count_max);

  /// Restarts spent, 0..`restart_count_max`; never decreases.
  uint32_t restart_count() const { return restart_count_; }

  /// The same without what the failure of this generation has cost, if that is known.
  uint32_t count_before(generation_id generation) const {
    const auto is_counted = generation == charged_ && restart_count_ > 0;
    return restart_count_ - (is_counted ? 1 : 0);
  }

  uint32_t restart_count_max() const { return restart_count_max_; }

  /// The newest generation whose failure has cost one; 0: none has.
  generation_id charged() const { return charged_; }

  const restart_rules& rules() const { return rules_; }

  // -- what ends have in common -------------------------------------------------

  /// A generation is about to be formed, or was adopted.
  void begin(time_point now) { begun_ = now; }

  /// A worker of it has passed a safe point.
  void note_step(uint64_t step) { steps_.reached(step); }

  /// A restart answers this failure, aged up to `now`.
  void add_end(const worker_failure& x, time_point now);

  /// The job is to end if restarts bring no new step, and no worker says at which it
  /// is.
  bool lacks_steps() const {
    return rules_.idle_restarts_max > 0 && !steps_.is_known();
  }

  const end_row& row() const { return row_; }
  void start_now() { row_.start_now(); }

private:
  uint32_t restart_count_max_;
  uint32_t restart_count_ = 0;
  generation_id charged_;
  restart_rules rules_;
  end_row row_;
  step_row steps_;
  time_point begun_{};
  end_class last_class_ = end_class::none;
};

} // namespace actorrun::core
