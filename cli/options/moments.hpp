// Reads moments as people write them: by the clock, by date, or so long before or
// after something.
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace actorrun::cli {

/// A moment, before it is known of what journal.
struct given_moment {
  enum class kind : uint8_t {
    after_begin, ///< `+12.3s`
    before_end,  ///< `-2s`
    before_now,  ///< `5m`
    clock,       ///< `03:10`: the last time that the clock showed this.
    date,        ///< `2026-11-30 03:10:05`, `2026-11-30T03:10:05.250+01:00`
  };

  kind how = kind::before_end;
  /// In ms: of the span; since midnight by the clock; Unix time of a date.
  int64_t ms = 0;
  std::string text{}; ///< As it was written.

  friend bool operator==(const given_moment&, const given_moment&) = default;
};

/// Clock times and dates without a zone are of the zone of this process.
/// @retval errc::bad_argument  it is none of these
result<given_moment> parse_moment(std::string_view text);

/// Unix times, in ms, of what a moment may be counted from.
struct moment_bounds {
  int64_t begin_ms = 0;
  int64_t end_ms = 0; ///< Clock times are not later.
  int64_t now_ms = 0;
};

/// As Unix time, in ms.
int64_t wall_ms_of(const given_moment& x, const moment_bounds& bounds);

} // namespace actorrun::cli
