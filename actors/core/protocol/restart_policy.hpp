// Spends the job's restarts, on worker failures only.
#pragma once

#include "actors/core/generation.hpp"

#include <cstdint>

namespace actorrun::core {

/// Decides what a worker failure leads to.
///
/// However many workers of one generation fail, one restart answers them all, so
/// they cost one. A start that can never succeed is not repeated.
class restart_policy {
public:
  enum class answer {
    restart,    ///< One restart has been spent; run the group again.
    collateral, ///< The generation's failure has been counted already, by this
                ///< coordinator or by an earlier one.
    give_up,    ///< Nothing is left, or another try cannot help.
  };

  /// @param restart_count_max Restarts the job may spend; 0 for none.
  explicit restart_policy(uint32_t restart_count_max)
    : restart_count_max_(restart_count_max) {}

  /// @param generation In which the worker failed.
  answer on_failure(generation_id generation, const worker_failure& failure);

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

private:
  uint32_t restart_count_max_;
  uint32_t restart_count_ = 0;
  generation_id charged_;
};

} // namespace actorrun::core
