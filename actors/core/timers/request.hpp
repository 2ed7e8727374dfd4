// Describes timers that workers set, and parses one line of their FIFO.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// Bytes of a line without its end: torch's clients refuse to write more.
inline constexpr size_t timer_line_max = 4096;

/// Highest signal of Linux.
inline constexpr int timer_signal_max = 64;

/// Highest pid a line may name.
inline constexpr int64_t timer_pid_max = std::numeric_limits<int32_t>::max();

/// A worker starts, renews or ends a timer of its own.
struct timer_request {
  int64_t pid = 0; ///< As its writer says: 1..`timer_pid_max`.
  /// UTF-8, according to its writer; make it `printable` before showing it.
  std::string scope;
  bool is_release = false;
  /// When the timer expires, since 1970; not with a release. What is beyond the
  /// type's range is its highest value.
  duration expiration{0};
  /// Sent to the worker on expiry, up to `timer_signal_max`; 0 or less: the
  /// expiry is only recorded.
  int signal = 0;

  friend bool operator==(const timer_request&, const timer_request&) = default;
};

/// What is wrong with a line, and where.
struct timer_fault {
  enum class kind : uint8_t {
    not_text, ///< Bytes that no text has.
    not_json,
    too_deep, ///< Objects and arrays nested beyond all reason.
    too_long, ///< More than `timer_line_max` bytes.
    bad_pid,  ///< Not an integer, or out of range; the same for those below.
    bad_scope,
    bad_expiration,
    bad_signal,
    no_pid, ///< The field is missing; the same for those below.
    no_scope,
    no_expiration,
    no_signal,
  };

  kind what = kind::not_json;
  size_t offset = 0; ///< In bytes from the beginning of the line.

  friend bool operator==(const timer_fault&, const timer_fault&) = default;
};

/// `"pid" is no integer from 1 to 2147483647 (byte 22)`
std::string to_string(const timer_fault& x);

/// Reads one line, without its end: an object with `pid`, `scope_id`,
/// `expiration_time` (seconds since 1970; negative releases) and `signal`, in
/// any order; other fields may be anything. Of equal fields the last counts,
/// and each must be right.
/// @param out Complete if there is no fault; else in an unspecified state. May
///            be used again and again: then nothing is allocated for a scope.
/// @returns none if the line is right
/// @complexity O(length)
/// @see torch/distributed/elastic/timer/file_based_local_timer.py; it takes the
///      same lines, and loses others' when one is wrong.
std::optional<timer_fault> parse_timer_request(std::string_view line,
                                               timer_request& out);

/// A worker of this agent. The generation is part of it, so a timer cannot outlive
/// its generation, even if another has its pid or local rank by then.
struct timed_worker {
  generation_id generation;
  uint32_t local_rank = 0;
  /// Not 0: not the worker itself, but this process that it has started. Its
  /// timers are its own.
  int64_t process = 0;

  friend auto operator<=>(const timed_worker&, const timed_worker&) = default;
};

/// A timer that was not released in time.
struct overrun {
  timed_worker who;
  int64_t pid = 0; ///< 0 if it is no process.
  std::string scope;
  time_point due;
  duration lateness{0}; ///< From the deadline to now.
  int signal = 0;
  /// How long the timer was to run, more than 0. None: its deadline was over when
  /// it was asked for.
  std::optional<duration> limit{};
};

/// Bytes of a scope's name: what fits into one line of the FIFO.
inline constexpr size_t scope_text_max = 4096;

/// How much is taken in. A worker's share is smaller than the whole, so that one
/// that runs wild leaves room for its siblings.
struct timer_limits {
  uint32_t timer_count_max = 1u << 20;
  uint32_t timers_per_worker_max = 1u << 17;
  size_t text_max = size_t{64} << 20; ///< Bytes of all names of scopes.
};

/// What became of the requests.
struct timer_counts {
  uint64_t acquired = 0;
  uint64_t released = 0;
  uint64_t unknown = 0; ///< Names no live worker of this agent.
  /// Of a worker that has overrun, or perhaps of the one that had its pid
  /// before.
  uint64_t late = 0;
  uint64_t refused = 0;    ///< Beyond a limit.
  uint64_t recorded = 0;   ///< Overruns of timers without a signal …
  uint64_t unrecorded = 0; ///< … and those above `records_max`.

  friend bool operator==(const timer_counts&, const timer_counts&) = default;
};

/// At most this many bytes of a scope are remembered for people.
inline constexpr size_t last_scope_size_max = 64;

/// What a worker, or a process that it has started, has asked for last.
struct last_request {
  int64_t pid = 0;   ///< Of the worker.
  std::string scope; ///< Its beginning; any bytes.
  time_point when{};
};

} // namespace actorrun::core
