// Defines time points, timers and the protocol's timeouts. Reads no clock.
#pragma once

#include "messages/ids.hpp"

#include <chrono>
#include <cstdint>

namespace actorrun::core {

/// Monotonic time of one process; never compared between hosts.
using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

/// Effect: `timer_fired` with this id is wanted at `due`. There is no cancel:
/// the owner compares ids and ignores abandoned timers.
struct arm_timer {
  timer_id timer;
  time_point due;
};

/// Event: a timer has expired, at its due time or later.
struct timer_fired {
  timer_id timer;
};

/// How long the parts of the protocol may take. All are positive. The names in
/// `--rdzv-conf` stand behind each; torchrun's keys keep torchrun's meaning.
struct timeouts {
  using ms = std::chrono::milliseconds;

  /// Longest wait for the minimum of nodes before the job ends
  /// (`join_timeout`).
  ms join{600'000};
  /// Longest wait for more nodes once the minimum is met (`last_call_timeout`).
  ms last_call{30'000};
  /// The last call ends early after so long without an arrival
  /// (`quiet_period`): nodes of one job start seconds apart, not half a minute.
  ms quiet{3'000};
  /// A running job waits so long after a joiner for more of them, so that a
  /// burst costs one regroup (`join_settle`).
  ms join_settle{1'000};
  /// Where nodes come and go, an epoch runs up to so long before it may be ended
  /// for newcomers (`rejoin_backoff`).
  ms rejoin_backoff{60'000};
  /// Looking for a coordinator: at first, and when it is gone (`read_timeout`).
  ms seek{60'000};
  /// One attempt to connect and to prove both sides (`heartbeat_timeout`).
  ms connect{5'000};
  /// Longest wait of the coordinator for its agents to learn the outcome
  /// (`close_timeout`).
  ms close{30'000};
  /// An agent speaks this often (`keep_alive_interval`) …
  ms keep_alive_interval{300};
  /// … and stops its own workers when so many stay unanswered
  /// (`keep_alive_max_attempt`). Together: the fence.
  uint32_t keep_alive_attempts = 3;
  /// A person asked for these two: `fitted` leaves them also at their defaults.
  bool keep_alive_is_given = false;
  /// The coordinator declares an agent lost so much later than the agent has
  /// fenced itself: the time an overloaded node may need to kill its workers.
  ms fence_guard{300};

  /// From the last answered keep-alive to the end of the agent's workers.
  ms fence() const { return keep_alive_interval * keep_alive_attempts; }

  /// From the last keep-alive heard to the agent being lost.
  ms lease() const { return fence() + fence_guard; }

  friend bool operator==(const timeouts&, const timeouts&) = default;
};

/// Jobs with more nodes keep to `timeouts{}`: their coordinator would read more
/// messages than it has time for.
inline constexpr uint32_t often_heard_agent_count_max = 500;

/// Fits the keep-alives to the size of the job: in small ones agents speak every
/// 60 ms, with the same fence. A node that is still heard after it was cut off
/// is lost that much sooner (docs/decisions/0025).
inline timeouts fitted(timeouts x, uint32_t agent_count_max) {
  const auto is_given
    = x.keep_alive_is_given
      || x.keep_alive_interval != timeouts{}.keep_alive_interval
      || x.keep_alive_attempts != timeouts{}.keep_alive_attempts;
  if (is_given || agent_count_max > often_heard_agent_count_max)
    return x;
  x.keep_alive_interval = timeouts::ms{60};
  x.keep_alive_attempts = 15;
  return x;
}

} // namespace actorrun::core
