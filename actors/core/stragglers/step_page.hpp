// Describes the page by which a worker says how long its steps take and what it has saved,
// and reads it.
#pragma once

#include "actors/core/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::core {

/// What an agent knows of the saves of a worker.
struct save_reading {
  uint64_t save_count = 0; ///< Since the program began.
  duration saving{0};      ///< How long those took that have ended.
  /// It saves since then; none: it does not.
  std::optional<time_point> saving_since{};
  time_point saved_up_to{};  ///< What it had computed by then is safe.
  duration saving_before{0}; ///< Of `saving`, by then.

  friend bool operator==(const save_reading&, const save_reading&) = default;
};

/// What an agent knows of the steps of a worker.
struct step_reading {
  uint64_t step_count = 0; ///< Since the program began to say it.
  /// How long it has computed in each of the last steps, the newest last: at most
  /// `step_page::newest_max`.
  std::vector<duration> newest{};
  save_reading saves{};

  friend bool operator==(const step_reading&, const step_reading&) = default;
};

/// Counts the signs of life: each step, and the begin and end of each save.
uint64_t beats_of(const step_reading& x);

/// A file with 64-bit words in the order of the machine's bytes, mapped by the worker,
/// which changes it by plain stores: first the time of a step, then the count.
/// The agent reads it while it changes, so at worst a time is counted a step early.
struct step_page {
  static constexpr uint64_t mark = 0x31'50'45'54'53'52'41'41; ///< `AARSTEP1`
  static constexpr size_t newest_max = 64;

  static constexpr size_t mark_word = 0;
  static constexpr size_t count_word = 1;

  /// The members of `save_reading`: times are nanoseconds, moments those of the monotonic
  /// clock. The first is changed last.
  static constexpr size_t save_count_word = 2;
  static constexpr size_t saved_up_to_word = 3;
  static constexpr size_t saving_since_word = 4; ///< 0: it does not save.
  static constexpr size_t saving_word = 5;
  static constexpr size_t saving_before_word = 6;

  /// The step with the number n, from 0, has the word `first_time_word + n % newest_max`:
  /// nanoseconds.
  static constexpr size_t first_time_word = 8;
  static constexpr size_t word_count = first_time_word + newest_max;

  std::array<uint64_t, word_count> words{};
};

/// @returns nothing if it is no such page, or no step is done and nothing was saved
std::optional<step_reading> read_step_page(const step_page& x);

} // namespace actorrun::core
