// Spends the job's restarts, on worker failures only.
#pragma once

#include "actors/core/epoch.hpp"

#include <cstdint>

namespace actorrun::core {

/// Decides what a worker failure leads to.
///
/// However many workers of one epoch fail, one restart answers them all, so they
/// cost one. A start that can never succeed is not repeated.
class restart_policy {
public:
  enum class answer {
    restart,    ///< One restart has been spent; run the group again.
    collateral, ///< The epoch's failure has been counted already.
    give_up,    ///< Nothing is left, or another try cannot help.
  };

  /// @param restart_count_max Restarts the job may spend; 0 for none.
  explicit restart_policy(uint32_t restart_count_max)
    : restart_count_max_(restart_count_max) {}

  /// @param epoch The epoch in which the worker failed, at least as new as any
  ///              that was passed before.
  answer on_failure(epoch_id epoch, const worker_failure& failure);

  /// Takes over what an earlier coordinator had spent; never lowers the count.
  void restore(uint32_t restart_count);

  /// The job may spend so many, whatever the command line says.
  void set_maximum(uint32_t restart_count_max);

  /// Restarts spent, 0..`restart_count_max`; never decreases.
  uint32_t restart_count() const { return restart_count_; }

  uint32_t restart_count_max() const { return restart_count_max_; }

private:
  uint32_t restart_count_max_;
  uint32_t restart_count_ = 0;
  epoch_id failed_epoch_;
};

} // namespace actorrun::core
