// Reads workers' timer requests from their FIFO, and warns about lines that are
// no requests.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/lines.hpp"
#include "actors/log.hpp"
#include "actors/ports/timer_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace actorrun {

/// At most this many bytes in one read: what a FIFO holds.
inline constexpr size_t timer_slice = 64 * 1024;

/// Minimum interval between two warnings about malformed lines.
inline constexpr auto timer_warning_interval = std::chrono::minutes{1};

class timer_requests {
public:
  /// @param source Null: there is nothing to read; only `counts` may be called.
  timer_requests(std::shared_ptr<ports::timer_source> source, log lines);

  /// Reads from the FIFO, once all requests of the read before were taken.
  /// @param limit In bytes; at most `timer_slice` are read.
  /// @returns how many bytes there were
  size_t read(size_t limit);

  /// The next complete request of what was read; null: there is none. Valid
  /// until the next call.
  const core::timer_request* next();

  /// Warns about malformed lines, if there are new ones and the last warning is
  /// old enough.
  void warn(core::time_point now);

  /// Warns about all that were not reported, and lets go of the FIFO.
  void close();

  const core::timer_line_counts& counts() const { return reader_.counts(); }

private:
  std::shared_ptr<ports::timer_source> source_;
  log lines_;
  core::timer_reader reader_;
  std::vector<char> buffer_; ///< Empty before the first read.
  std::string_view bytes_;   ///< In `buffer_`, not parsed yet.
  core::timer_request request_;
  uint64_t reported_count_ = 0;
  std::optional<core::time_point> reported_at_;
};

} // namespace actorrun
