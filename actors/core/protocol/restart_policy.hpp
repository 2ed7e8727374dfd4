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
    collateral, ///< The generation's failure has been counted already.
    give_up,    ///< Nothing is left, or another try cannot help.
  };

  /// @param restart_count_max Restarts the job may spend; 0 for none.
  explicit restart_policy(uint32_t restart_count_max)
    : restart_count_max_(restart_count_max) {}

  /// @param generation The generation in which the worker failed, at least as new
  /// as any
  ///              that was passed before.
  answer on_failure(generation_id generation, const worker_failure& failure);

  /// The same for one that must show first that it costs something: nothing is spent.
  void defer(generation_id generation);

  /// That has shown: spends a restart, if one is left.
  answer charge();

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
  generation_id failed_generation_;
};

} // namespace actorrun::core
