// Watches the GPUs of this node.
#pragma once

#include "actors/core/devices/status.hpp"

#include <functional>
#include <string>

namespace actorrun::ports {

/// Both calls return at once; a driver that hangs delays only the answers.
class device_monitor {
public:
  /// @param event  What has happened, for people; empty: this is an answer, or
  ///               the first report.
  using listener
    = std::function<void(core::devices_status now, std::string event)>;

  virtual ~device_monitor() = default;

  /// Calls `on_event` on a thread of its own, once when the devices are known,
  /// if there are any, and then whenever something happens to one of them.
  /// Call it once.
  virtual void watch(listener on_event) = 0;

  /// Calls back on a thread of its own, once, or never if the driver hangs.
  virtual void sample(listener on_answer) = 0;
};

} // namespace actorrun::ports
