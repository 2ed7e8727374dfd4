// Counts how many bytes a reader of logs is ready to take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace actorrun::core {

/// Bytes that are under way to a reader are never more than its window.
class credit_window {
public:
  explicit credit_window(uint64_t size) : size_(size), left_(size) {}

  bool has_room(size_t cost) const { return cost <= left_; }

  /// @returns false: it is more than there is room for, and nothing was taken
  bool take(size_t cost) {
    if (!has_room(cost))
      return false;
    left_ -= cost;
    return true;
  }

  /// The reader has taken them. More than are under way count as those.
  void add(uint64_t size) { left_ += std::min(size, under_way()); }

  uint64_t size() const { return size_; }
  uint64_t left() const { return left_; }
  uint64_t under_way() const { return size_ - left_; }

private:
  uint64_t size_;
  uint64_t left_;
};

} // namespace actorrun::core
