// Defines what the store's containers take of the system's memory, as libstdc++ has
// them, and the greedier of two mallocs: jemalloc, which our programs are linked
// with, and glibc's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>

namespace actorrun::core {

constexpr size_t rounded_up(size_t x, size_t step) {
  return (x + step - 1) / step * step;
}

inline constexpr auto page_size = size_t{4'096};

/// Bytes that glibc takes for a block of `size` bytes, at least 1.
///
/// The length stands before a block, and blocks are multiples of 16 bytes, at
/// least 32. Large ones are whole pages.
constexpr size_t glibc_block_cost(size_t size) {
  constexpr auto length = sizeof(size_t);
  constexpr auto step = 2 * length;
  constexpr auto large_min = size_t{128} * 1'024;
  return size >= large_min
           ? rounded_up(size + step, page_size)
           : std::max(2 * step, rounded_up(size + length, step));
}

/// The same for jemalloc: blocks have one of its sizes, four from each power of two
/// to the next, and multiples of 16 below (`jemalloc(3)`, IMPLEMENTATION NOTES). Of a
/// large one, pages behind its end are not used, so the system does not give them.
constexpr size_t jemalloc_block_cost(size_t size) {
  constexpr auto step_min = size_t{16};
  constexpr auto small_max = size_t{14} * 1'024;
  return rounded_up(size, size > small_max
                            ? page_size
                            : std::max(step_min, std::bit_floor(size - 1) / 4));
}

/// Bytes that malloc takes for a block of `size` bytes, at most; 0 for none.
constexpr size_t block_cost(size_t size) {
  return size == 0
           ? 0
           : std::max(glibc_block_cost(size), jemalloc_block_cost(size));
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
