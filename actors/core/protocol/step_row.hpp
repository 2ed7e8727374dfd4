// Counts restarts in a row that have brought the job no further.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace actorrun::core {

/// Workers say at which step they are when they pass a safe point. A restart that
/// reaches none that is higher than all before has brought nothing.
class step_row {
public:
  /// A worker of the newest generation has come so far.
  void reached(uint64_t step) {
    is_further_ |= !highest_ || step > *highest_;
    highest_ = std::max(highest_.value_or(0), step);
  }

  /// A failure has ended the generation, and is answered by a restart. What no worker
  /// says is not counted.
  void ended() {
    if (is_further_ || !highest_)
      idle_count_ = 0;
    else if (is_restart_)
      ++idle_count_;
    is_further_ = false;
    is_restart_ = true;
  }

  bool is_known() const { return highest_.has_value(); }

  /// @pre `is_known()`
  uint64_t highest() const { return *highest_; }

  uint32_t idle_count() const { return idle_count_; }

private:
  std::optional<uint64_t> highest_; ///< Of all generations.
  bool is_further_ = false; ///< This one has come further than all before.
  bool is_restart_ = false; ///< This one is one.
  uint32_t idle_count_ = 0;
};

} // namespace actorrun::core
