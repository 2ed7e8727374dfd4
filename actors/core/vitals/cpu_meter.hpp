// Computes how busy processes are, from what they have used so far.
#pragma once

#include "actors/core/time.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace actorrun::core {

/// What a process, with its child processes, has used since its start.
struct cpu_reading {
  int64_t pid = 0;
  uint64_t birth = 0; ///< In ticks: tells it from a later one of that number.
  uint64_t ticks = 0;
  duration age{0}; ///< Since its start.
};

/// Compares each sample with the one before.
class cpu_meter {
public:
  /// Older samples say nothing about how busy a process is now.
  static constexpr auto base_age_max = std::chrono::seconds{10};

  /// @param ticks_per_second Of the readings; above 0.
  explicit cpu_meter(uint64_t ticks_per_second)
    : ticks_per_second_(ticks_per_second) {}

  /// Whether the last sample is recent enough for the next to be compared with it.
  /// Processes that have begun since are compared with their start, which is as
  /// recent.
  bool has_base(time_point now) const;

  /// Begins a sample.
  /// @param now Not before that of the last one.
  void begin(time_point now);

  /// Adds a process to the sample. One that the last sample did not have is
  /// compared with its start.
  /// @returns per cent of one CPU; nothing if no time has passed, or if less was
  ///          used than before, because one of its child processes is gone
  std::optional<uint32_t> note(const cpu_reading& x);

private:
  struct sample {
    std::optional<time_point> when{};          ///< None: there was none.
    std::map<int64_t, cpu_reading> readings{}; ///< By pid.
  };

  uint64_t ticks_per_second_;
  sample last_;
  sample now_;
};

} // namespace actorrun::core
