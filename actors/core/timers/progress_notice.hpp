// Parses what a datagram of sd_notify(3) says about a watchdog.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace actorrun::core {

/// A datagram has at most this many bytes; longer ones are ignored.
inline constexpr size_t notice_size_max = 4096;

struct progress_notice {
  bool is_alive = false;    ///< `WATCHDOG=1`
  bool is_stuck = false;    ///< `WATCHDOG=trigger`
  bool is_stopping = false; ///< `STOPPING=1`: it is about to end.
  /// `WATCHDOG_USEC=…`: from now on, within what time it will be heard again; 0:
  /// never.
  std::optional<duration> interval{};

  friend bool operator==(const progress_notice&, const progress_notice&)
    = default;
};

/// Reads a datagram: `NAME=value` lines. Those that have nothing to do with a
/// watchdog, or are wrong, are skipped; of equal names the last counts. What has
/// a NUL in it, or is too long, says nothing.
/// @see systemd's src/core/service.c, `service_notify_message`
progress_notice read_notice(std::string_view text);

} // namespace actorrun::core
