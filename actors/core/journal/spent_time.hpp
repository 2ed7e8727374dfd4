// Sums up the time of workers by what it went to.
#pragma once

#include "actors/core/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace actorrun::core::journal {

/// What a node's places are for at a moment, as far as a journal can prove it. A node
/// has one at a time: the one that a journal says of it (`cause_of`).
enum class time_cause : uint8_t {
  training, ///< Its workers run, and none is to end.
  starting, ///< It has a place in a generation whose workers do not all run yet.
  regrouping,   ///< Its generation is being stopped.
  waiting,      ///< The job waits for nodes, and it is here.
  out_of_touch, ///< Its link is broken: what it does is not known.
  finished,     ///< Its workers have exited with 0; those of others have not.
  standby,      ///< It has no place, or may have none.
  hung,     ///< Its workers run, and none of the job has shown a sign of life.
  checking, ///< It has no place because a check of it runs, or has failed.
  saving,   ///< Its workers ran, and said that they saved.
  /// Its workers ran, and what they did is gone: nothing was saved after it.
  lost,
};

inline constexpr size_t time_cause_count = 11;

/// One word for programs: `training`, `out_of_touch`.
std::string to_string(time_cause x);

/// A few words for people: `waiting for nodes`.
std::string title_of(time_cause x);

/// Whole microseconds of the clock that `x` is from: differences of two of them add
/// up exactly.
int64_t ticks_of(time_point x);

/// Sums are exact. By cause, as are the lists.
struct spent_time {
  std::array<uint64_t, time_cause_count> worker_us{}; ///< Of each place.
  std::array<uint64_t, time_cause_count> node_us{};   ///< Of each node.

  void add(time_cause what, uint32_t places, uint64_t us);
  void add(const spent_time& x);

  /// Training turns out to have been something else.
  /// @pre there is so much of it
  void move_training(time_cause to, uint64_t worker, uint64_t node);

  uint64_t of(time_cause what) const { return worker_us[size_t(what)]; }
  uint64_t all_worker_us() const;
  uint64_t all_node_us() const;

  friend bool operator==(const spent_time&, const spent_time&) = default;
};

} // namespace actorrun::core::journal
