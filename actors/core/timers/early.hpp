// Keeps what workers say before they are known.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Most that is held at once.
inline constexpr size_t early_requests_max = 1024;

/// A worker is known so soon after its start, or is none.
inline constexpr auto early_timeout = std::chrono::seconds{1};

struct early_request {
  timer_request request;
  duration wall_offset{0}; ///< When it was read.
  time_point when{};       ///< Likewise.
};

/// A worker may write before the news of its start has reached the timer server:
/// what it has said waits here.
template <class Item>
class early_items {
public:
  /// @param worker The process that is about to be known.
  /// @param now    Never decreases between calls.
  /// @returns false: there is no room; it is lost.
  bool hold(int64_t worker, const Item& x, time_point now) {
    forget_old(now);
    if (held_.size() == early_requests_max)
      return false;
    held_.push_back({now, worker, x});
    return true;
  }

  /// The worker is known.
  /// @returns what was held for it, in order, and not longer than
  ///          `early_timeout`
  std::vector<Item> take(int64_t worker, time_point now) {
    forget_old(now);
    auto out = std::vector<Item>{};
    std::erase_if(held_, [&](entry& x) {
      if (x.worker != worker)
        return false;
      out.push_back(std::move(x.what));
      return true;
    });
    return out;
  }

  size_t size() const { return held_.size(); }

private:
  struct entry {
    time_point since;
    int64_t worker = 0;
    Item what;
  };

  void forget_old(time_point now) {
    while (!held_.empty() && now - held_.front().since > early_timeout)
      held_.pop_front();
  }

  std::deque<entry> held_; ///< The oldest in front.
};

using early_requests = early_items<early_request>;

} // namespace actorrun::core
