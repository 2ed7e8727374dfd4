// PUBLIC: says which service manager a process reports to, such as systemd.
#pragma once

#include <chrono>
#include <string>

namespace actorrun {

/// What a service manager tells the programs that it starts, in `NOTIFY_SOCKET` and
/// `WATCHDOG_USEC`. Workers get neither.
/// @see sd_notify(3), sd_watchdog_enabled(3)
struct service_options {
  /// The manager's socket for datagrams: an absolute path, or `@` and a name of the
  /// abstract namespace. Empty: no manager waits for us.
  std::string socket{};
  /// The manager ends a process that is silent for so long; 0: it does not.
  std::chrono::microseconds watchdog{0};

  friend bool operator==(const service_options&, const service_options&)
    = default;
};

} // namespace actorrun
