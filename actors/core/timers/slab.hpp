// Stores many small records of one kind without an allocation for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace actorrun::core {

/// No record, wherever the number of one may stand.
inline constexpr uint32_t no_record = UINT32_MAX;

/// Records with numbers 0, 1, 2…; those given back are used again. Records never
/// move, and growing copies none of them.
/// @tparam T Has a member `uint32_t link`, which belongs to the slab while the
///           record is not in use.
template <class T>
class timer_slab {
public:
  /// The number of a record; it holds what its last user left in it. O(1).
  uint32_t take() {
    if (free_ == no_record)
      add_chunk();
    const auto number = free_;
    free_ = (*this)[number].link;
    return number;
  }

  /// O(1).
  /// @pre `number` was taken and not given back since
  void give_back(uint32_t number) {
    (*this)[number].link = free_;
    free_ = number;
  }

  T& operator[](uint32_t number) {
    return chunks_[number / chunk_size][number % chunk_size];
  }

  const T& operator[](uint32_t number) const {
    return chunks_[number / chunk_size][number % chunk_size];
  }

  /// Records there is room for.
  size_t capacity() const { return chunks_.size() * chunk_size; }

  /// Gives all memory back.
  /// @pre no record is in use
  void clear() {
    chunks_ = std::vector<std::unique_ptr<T[]>>{};
    free_ = no_record;
  }

private:
  static constexpr uint32_t chunk_size = 1024;

  void add_chunk() {
    const auto first = static_cast<uint32_t>(capacity());
    chunks_.push_back(std::make_unique<T[]>(chunk_size));
    for (auto i = chunk_size; i-- > 0;)
      give_back(first + i);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  uint32_t free_ = no_record; ///< First of a list through `link`.
};

} // namespace actorrun::core
