// Finds numbered records by the hash of their key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace actorrun::core {

/// A hash table that holds nothing but numbers, 4 bytes per cell: keys and
/// hashes stay in the records. At most 3 of 4 cells are used; erasing leaves no
/// traces, so a table does not become slow with age.
class timer_index {
public:
  static constexpr uint32_t none = UINT32_MAX;

  /// @param equals `equals(number)`: is it the one that is looked for?
  /// @returns its number, or `none`
  /// @complexity O(1) on average
  template <class Equals>
  uint32_t find(uint32_t hash, Equals equals) const {
    if (cells_.empty())
      return none;
    auto i = hash & mask();
    while (cells_[i] != none && !equals(cells_[i]))
      i = (i + 1) & mask();
    return cells_[i];
  }

  /// @param hash_of `hash_of(number)`: the hash of any record in the table
  /// @pre the table does not hold the key of `number`
  /// @complexity O(1) amortised; the insert that doubles the table is O(N)
  template <class HashOf>
  void insert(uint32_t number, HashOf hash_of) {
    if ((count_ + 1) * 4 > cells_.size() * 3)
      grow(hash_of);
    put(number, hash_of(number));
    ++count_;
  }

  /// @pre the table holds `number`
  /// @complexity O(1) on average
  template <class HashOf>
  void erase(uint32_t number, HashOf hash_of) {
    auto hole = hash_of(number) & mask();
    while (cells_[hole] != number)
      hole = (hole + 1) & mask();
    // What comes after moves up, unless its own place lies behind the hole.
    for (auto i = (hole + 1) & mask(); cells_[i] != none;
         i = (i + 1) & mask()) {
      const auto home = hash_of(cells_[i]) & mask();
      if (((i - home) & mask()) >= ((i - hole) & mask())) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole] = none;
    --count_;
  }

  size_t size() const { return count_; }

  void clear() {
    cells_ = std::vector<uint32_t>{}; // `{}` would keep the memory.
    count_ = 0;
  }

  /// Calls `visit(number)` for each record, in no order.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto x : cells_)
      if (x != none)
        visit(x);
  }

private:
  static constexpr size_t smallest = 64;

  uint32_t mask() const { return static_cast<uint32_t>(cells_.size() - 1); }

  void put(uint32_t number, uint32_t hash) {
    auto i = hash & mask();
    while (cells_[i] != none)
      i = (i + 1) & mask();
    cells_[i] = number;
  }

  template <class HashOf>
  void grow(HashOf hash_of) {
    const auto size = cells_.empty() ? smallest : cells_.size() * 2;
    const auto old = std::exchange(cells_, std::vector<uint32_t>(size, none));
    for (const auto x : old)
      if (x != none)
        put(x, hash_of(x));
  }

  std::vector<uint32_t> cells_; ///< A power of two of them, or none.
  size_t count_ = 0;
};

} // namespace actorrun::core
