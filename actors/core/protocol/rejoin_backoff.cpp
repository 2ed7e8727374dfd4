#include "actors/core/protocol/rejoin_backoff.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

namespace {

/// A node that is killed and comes back, once or twice, waits for nothing.
constexpr uint32_t free_count = 2;

} // namespace

rejoin_backoff::rejoin_backoff(duration first, duration longest)
  : first_(std::min(first, longest)), longest_(longest) {
  assert(first > duration::zero() && longest > duration::zero());
}

void rejoin_backoff::epoch_begins(time_point now) {
  // The last one has ended for newcomers, or for a failure.
  if (!is_counted_ && now - begun_ >= longest_)
    reset();
  begun_ = now;
  is_counted_ = false;
}

void rejoin_backoff::member_departs(time_point now) {
  if (std::exchange(is_counted_, true))
    return;
  if (now - begun_ >= longest_)
    return reset();
  ++short_epochs_;
  if (short_epochs_ > free_count)
    wait_ = wait_ == duration::zero() ? first_ : std::min(2 * wait_, longest_);
}

void rejoin_backoff::reset() {
  short_epochs_ = 0;
  wait_ = {};
}

} // namespace actorrun::core
