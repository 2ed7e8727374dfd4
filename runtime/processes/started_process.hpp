// Describes the result of a start: a process and its resources, or an error.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/warden.hpp"

#include <functional>
#include <string>
#include <utility>

#include <sys/types.h>

namespace actorrun::detail {

struct started_process {
  pid_t pid = 0;
  unique_fd pidfd{};
  int cgroup_error = 0; ///< Why it runs outside of its control group.
  warden::registration registration{};
  core::time_point since{}; ///< It did not run before.
  int error = 0;            ///< errno of the step that failed; 0: it runs.
  std::string subject{};    ///< What could not be used, if there is an error.
};

/// If a limit of this system is the reason, the subject names it.
started_process not_started(int error, std::string subject);

/// Kills a child, waits for its end and frees its pid.
/// @param pidfd May be empty.
void end_process(pid_t pid, const unique_fd& pidfd);

} // namespace actorrun::detail
