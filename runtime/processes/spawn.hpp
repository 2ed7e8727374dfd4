// Starts one process that executes a program, by a clone like vfork.
#pragma once

#include "runtime/os/cpu_binding.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/child_setup.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// Waits for the end of a child, also of one that ends without a signal, and takes
/// its record.
void reap(int pidfd);

/// The process was started if `error` is 0.
struct spawned {
  pid_t pid = 0;
  unique_fd pidfd;
  int error = 0;        ///< errno of the step that failed, exec included.
  int cgroup_error = 0; ///< Why it runs outside of the gate's control group.
};

/// Starts processes without copying the address space: takes the same time
/// whatever the size of this program. The calling thread waits until the
/// child has executed its program or failed.
///
/// The child starts in the control group of its gate: the kernel makes it there,
/// which takes no time; where it cannot, the child moves itself before its exec.
/// One that can do neither starts all the same.
///
/// The child has its own session and process group (both bear its pid), an
/// empty signal mask, default handlers, no descriptors but 0, 1, 2 and those it
/// is given, and gets SIGKILL when the *thread* that called `start` ends: call
/// it on a thread that lives as long as the program.
class spawner {
public:
  /// Maps the stack the children start on. Aborts without memory for it.
  spawner();
  ~spawner();
  spawner(const spawner&) = delete;
  spawner& operator=(const spawner&) = delete;

  /// Notes which signals this program handles or ignores, for the children to
  /// reset: once per batch, not once per child. Call it before a batch.
  void inspect_signals();

  /// @param path What to execute; see `program_finder`.
  /// @param arguments argv, [0] included.
  /// @param environment `NAME=value`, the whole of it.
  /// @param gate Entered by the child when it has its own group; may be null.
  /// @param files What the child gets for 1, 2, 3, …
  /// @param binding Where the child runs; one that fails is a start that fails.
  spawned start(const std::string& path,
                const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment,
                child_gate* gate = nullptr, const child_files& files = {},
                const cpu_binding& binding = {});

private:
  char* stack_ = nullptr;
  sigset_t to_reset_{};
};

} // namespace actorrun::detail
