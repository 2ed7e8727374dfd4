// Reads what a service manager tells the programs that it starts.
#pragma once

#include "runtime/options.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::cli {

/// What the variables say, and what is wrong with them.
struct service_variables {
  service_options options;
  std::vector<std::string> warnings; ///< One line each, for a person.
};

/// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. A variable that cannot be
/// used has no effect and gets a warning: a job does not depend on who watches it.
/// @param variable The value of a variable; nothing if it is not set.
/// @param own_pid  A watchdog that is meant for another process is none.
/// @see sd_notify(3), sd_watchdog_enabled(3)
service_variables read_service_variables(
  const std::function<std::optional<std::string>(const std::string&)>& variable,
  pid_t own_pid);

} // namespace actorrun::cli
