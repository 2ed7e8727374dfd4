// Spares a running job the restarts that nodes which come and go would cost it.
#pragma once

#include "actors/core/time.hpp"

#include <cstdint>

namespace actorrun::core {

/// Counts epochs that a departure has ended soon after they began, as long as none
/// lasts. From the third on, the next epoch runs for a while before it may be ended
/// for newcomers: twice as long each time, up to a limit.
///
/// What matters is how long the job ran, and not who has left: a node may return
/// under another name.
class rejoin_backoff {
public:
  /// @param first The first wait, positive.
  /// @param longest The longest wait, positive; an epoch that runs for so long is
  ///        no short one.
  rejoin_backoff(duration first, duration longest);

  /// An epoch has been formed or adopted.
  void epoch_begins(time_point now);

  /// A member of the epoch has gone. Counts once per epoch.
  void member_departs(time_point now);

  /// The epoch may not be ended for newcomers before.
  time_point due() const { return begun_ + wait_; }

  duration wait() const { return wait_; }

private:
  void reset();

  duration first_;
  duration longest_;
  duration wait_{0};
  time_point begun_{};
  uint32_t short_epochs_ = 0;
  bool is_counted_ = true; ///< No epoch, or its end has been counted.
};

} // namespace actorrun::core
