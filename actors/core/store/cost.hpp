// Defines what the store's containers take of the system's memory, as glibc's
// malloc and libstdc++ have it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace actorrun::core {

/// Bytes that malloc takes for a block of `size` bytes; 0 for none.
///
/// The length stands before a block, and blocks are multiples of 16 bytes, at
/// least 32. Large ones are whole pages.
constexpr size_t block_cost(size_t size) {
  constexpr auto length = sizeof(size_t);
  constexpr auto step = 2 * length;
  constexpr auto page = size_t{4'096};
  constexpr auto large_min = size_t{128} * 1'024;
  const auto rounded
    = [](size_t x, size_t to) { return (x + to - 1) / to * to; };
  if (size == 0)
    return 0;
  if (size >= large_min)
    return rounded(size + step, page);
  return std::max(2 * step, rounded(size + length, step));
}

/// Of one element of a `std::map` or `std::set`: colour, parent and children
/// stand before it.
template <class T>
constexpr size_t tree_node_cost() {
  return block_cost(4 * sizeof(void*) + sizeof(T));
}

/// Of one element of a `std::list`.
template <class T>
constexpr size_t list_node_cost() {
  return block_cost(2 * sizeof(void*) + sizeof(T));
}

/// Of one element of an `std::unordered_map`: the next one and the hash stand
/// beside it, and tables have up to two places for each.
template <class T>
constexpr size_t hash_node_cost() {
  return block_cost(2 * sizeof(void*) + sizeof(T)) + 2 * sizeof(void*);
}

/// Of a text with that capacity, without the `std::string` itself, which has
/// room for short ones.
inline size_t text_cost(size_t capacity) {
  return capacity <= std::string{}.capacity() ? 0 : block_cost(capacity + 1);
}

inline size_t text_cost(const std::string& x) {
  return text_cost(x.capacity());
}

/// The capacity of a new `std::string` after `reserve(size)`: short of twice
/// its own it gets that.
inline size_t text_capacity(size_t size) {
  const auto own = std::string{}.capacity();
  return size <= own ? own : std::max(size, 2 * own);
}

} // namespace actorrun::core
