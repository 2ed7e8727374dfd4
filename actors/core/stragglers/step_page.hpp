// Describes the page by which a worker says how long its steps take, and reads it.
#pragma once

#include "actors/core/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::core {

/// What an agent knows of the steps of a worker.
struct step_reading {
  uint64_t step_count = 0; ///< Since the program began to say it.
  /// How long it has computed in each of the last steps, the newest last: at most
  /// `step_page::newest_max`.
  std::vector<duration> newest{};

  friend bool operator==(const step_reading&, const step_reading&) = default;
};

/// A file with 64-bit words in the order of the machine's bytes, mapped by the worker,
/// which changes it by plain stores: first the time of a step, then the count.
/// The agent reads it while it changes, so at worst a time is counted a step early.
struct step_page {
  static constexpr uint64_t mark = 0x31'50'45'54'53'52'41'41; ///< `AARSTEP1`
  static constexpr size_t newest_max = 64;

  static constexpr size_t mark_word = 0;
  static constexpr size_t count_word = 1;
  /// The step with the number n, from 0, has the word `first_time_word + n % newest_max`:
  /// nanoseconds.
  static constexpr size_t first_time_word = 8;
  static constexpr size_t word_count = first_time_word + newest_max;

  std::array<uint64_t, word_count> words{};
};

/// @returns nothing if it is no such page, or no step is done
std::optional<step_reading> read_step_page(const step_page& x);

} // namespace actorrun::core
