// Keeps requests of workers that are not known yet.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace actorrun::core {

/// Most requests that are held at once.
inline constexpr size_t early_requests_max = 1024;

/// A worker is known so soon after its start, or is none.
inline constexpr auto early_timeout = std::chrono::seconds{1};

struct early_request {
  timer_request request;
  duration wall_offset{0}; ///< When it was read.
};

/// A worker may write before the news of its start has reached the timer server:
/// what it asked for waits here.
class early_requests {
public:
  /// @param worker The process that is about to be known.
  /// @param now    Never decreases between calls.
  /// @returns false: there is no room; it is lost.
  bool hold(int64_t worker, const early_request& x, time_point now);

  /// The worker is known.
  /// @returns what was held for it, in order, and not longer than
  ///          `early_timeout`
  std::vector<early_request> take(int64_t worker, time_point now);

  size_t size() const { return held_.size(); }

private:
  struct entry {
    time_point since;
    int64_t worker = 0;
    early_request what;
  };

  void forget_old(time_point now);

  std::deque<entry> held_; ///< The oldest in front.
};

} // namespace actorrun::core
