// Defines time points, timers and the protocol's timeouts. Reads no clock.
#pragma once

#include "messages/ids.hpp"

#include <algorithm>
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

/// Time that the workers of a drained node get if none is named.
inline constexpr auto drain_time_default = std::chrono::seconds{60};

/// They get no more than this.
inline constexpr auto drain_time_max = std::chrono::hours{7 * 24};

/// How long the parts of the protocol may take. All are positive but where that is
/// said. The names in
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
  /// Where nodes come and go, a generation runs up to so long before it may be
  /// ended for newcomers (`rejoin_backoff`).
  ms rejoin_backoff{60'000};
  /// Before a change that can wait, workers that have safe points get so long to
  /// come to one (`--safe-point-timeout`); 0: it does not wait.
  ms safe_point{60'000};
  /// Looking for the first coordinator (`read_timeout`).
  ms seek{60'000};
  /// A person asked for that: it counts also for a coordinator that is lost.
  bool seek_is_given = false;
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

  /// Looking for the next coordinator when the last one is lost. A coordinator waits
  /// so long for lost nodes, and its own node may be the one that is lost.
  ms seek_again() const { return seek_is_given ? seek : std::max(seek, join); }

  /// From the last answered keep-alive to the end of the agent's workers.
  ms fence() const { return keep_alive_interval * keep_alive_attempts; }

  /// From the last keep-alive heard to the agent being lost.
  ms lease() const { return fence() + fence_guard; }

  /// An answer to a keep-alive may be late by so much, for what it saves where
  /// there are many agents; 0: it comes at once.
  ms answer_pause() const {
    constexpr auto longest = ms{32};
    return keep_alive_interval < timeouts{}.keep_alive_interval
             ? ms{0}
             : std::min(keep_alive_interval / 16, longest);
  }

  friend bool operator==(const timeouts&, const timeouts&) = default;
};

/// A coordinator reads at most this many keep-alives per second of small jobs, which
/// is about two hundredths of a core, …
inline constexpr uint32_t small_job_rate = 400;
/// … and of large ones: a fifth of a core, with all that its system does for them.
inline constexpr uint32_t large_job_rate = 5'000;

/// A coordinator on a slow machine lets agents in at this pace, with all that both
/// sides do for the encryption. In jobs of more than 2,500 nodes an attempt to
/// connect may take so long for each of them, as all may come at once.
inline constexpr auto entry_time = timeouts::ms{2};

/// A coordinator that is started again takes its agents back at this pace, or
/// faster: docs/scale.md has what was measured.
inline constexpr auto return_time = std::chrono::microseconds{800};

/// Fits the keep-alives to the size of the job (docs/decisions/0039). Agents of
/// small jobs speak every 60 ms, with the same fence: a node that is still heard
/// after it was cut off is lost that much sooner. From 200 to 2,500 nodes it is
/// every 0.5 s, and longer beyond that. The fence grows above 625 nodes, so that a
/// coordinator that is started again has taken all of them back before it falls.
/// @param agent_count_max As on the command line, which is the same on all nodes:
///                        the fence of an agent must fit the lease of whoever
///                        may be its coordinator next.
timeouts fitted(timeouts x, uint32_t agent_count_max);

} // namespace actorrun::core
