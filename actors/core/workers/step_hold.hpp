// Brings one node's live workers to the step at which the group changes.
#pragma once

#include "actors/core/safe_point.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::core {

/// Follows what the workers answer to the newest order.
///
/// A worker answers each order to hold once, in their order, so an answer to an
/// older one is known by their number.
class step_hold {
public:
  explicit step_hold(uint32_t worker_count) : workers_(worker_count) {}

  /// A repeated order is answered again.
  /// @param told The local ranks that are told of it.
  void begin(const safe_point_order& order, const std::vector<uint32_t>& told);

  /// @pre `local_rank` is less than the number of workers
  void held(uint32_t local_rank, uint64_t step);

  /// @pre as `held`
  void reached(uint32_t local_rank, uint64_t step);

  /// Whether the worker has answered the newest order to hold.
  /// @pre as `held`
  bool has_held(uint32_t local_rank) const {
    return workers_.at(local_rank).has_held;
  }

  /// Whether the newest order waits for an answer.
  bool is_due() const { return is_due_; }

  /// What the node answers to the newest order, once, as soon as it can.
  /// @param running  Local ranks of the workers that have not ended.
  /// @param can_stop Whether each of them can be told where to stop.
  std::optional<safe_point_report> answer(const std::vector<uint32_t>& running,
                                          bool can_stop);

private:
  struct worker {
    uint32_t asked_count = 0; ///< Orders to hold that it has not answered.
    uint64_t step = 0;        ///< The first that it can still stop at.
    bool has_held = false;
    bool has_reached = false;
  };

  std::optional<safe_point_order> order_; ///< The newest.
  bool is_due_ = false;                   ///< It is not answered yet.
  std::vector<worker> workers_;
};

} // namespace actorrun::core
