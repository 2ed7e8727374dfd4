// Parses one line of the timer FIFO.
#pragma once

#include "actors/core/time.hpp"

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

} // namespace actorrun::core
