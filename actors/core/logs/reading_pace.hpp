// Decides how much of a busy machine's processors a reading of logs takes.
#pragma once

#include "actors/core/time.hpp"

namespace actorrun::core {

/// What a reading has had of the processors since it began; none ever decreases.
struct processor_time {
  duration ran{};    ///< Its thread, on one of them.
  duration waited{}; ///< Its thread, ready to run, while others ran.
  duration caused{}; ///< Others, to bring its lines to the screen.
};

/// Lets a reading run as fast as it can while processors are idle, and leaves them to
/// the workers while they are not.
///
/// A thread that sleeps often is preferred by the system when it wakes up: it has to
/// run for a while before it is seen that others want the processor. So that is
/// believed for some time, and then tried again.
class reading_pace {
public:
  /// Between two pauses the thread runs for at least so long.
  static constexpr auto slice = std::chrono::microseconds{250};

  /// The machine is busy when the thread had to wait for a fourth of the time that it
  /// ran.
  static constexpr int waited_part = 4;

  /// Then it takes one part in so many, until that is tried again.
  static constexpr int busy_part = 200;
  static constexpr auto busy_time = std::chrono::seconds{2};

  static constexpr auto pause_max = std::chrono::seconds{1};

  /// @returns how long it should pause now; 0: it goes on
  duration pause_after(time_point now, processor_time had);

private:
  processor_time last_{}; ///< When the present slice began.
  time_point busy_until_{};
};

} // namespace actorrun::core
