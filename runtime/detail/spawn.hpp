// Starts one process: the vfork-style clone, and where its program is.
#pragma once

#include "actorrun/runtime/detail/unique_fd.hpp"

#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// Stands between clone and exec. Both functions run in the child, which still
/// shares the memory of its parent: they may call only what is
/// async-signal-safe, and may write only what they own.
class child_gate {
public:
  /// @returns 0 to go on, or the errno to fail with
  virtual int enter(pid_t self) noexcept = 0;

  /// The program could not be executed; the child ends after this.
  virtual void leave() noexcept = 0;

protected:
  ~child_gate() = default;
};

/// The process was started if `error` is 0.
struct spawned {
  pid_t pid = 0;
  unique_fd pidfd;
  int error = 0; ///< errno of the step that failed, exec included.
};

/// Starts processes without copying the address space: takes the same time
/// whatever the size of this program. The calling thread waits until the
/// child has executed its program or failed.
///
/// The child has its own session and process group (both bear its pid), an
/// empty signal mask, default handlers, no descriptors but 0, 1 and 2, which
/// it inherits as they are, and gets SIGKILL when the *thread* that called
/// `start` ends: call it on a thread that lives as long as the program.
class spawner {
public:
  /// Maps the stack the children start on. Aborts without memory for it.
  spawner();
  ~spawner();
  spawner(const spawner&) = delete;
  spawner& operator=(const spawner&) = delete;

  /// Notes which signals this program handles or ignores, for the children to
  /// reset: once per batch, not once per child. Call it before a batch.
  void look_at_signals();

  /// @param path What to execute; see `program_finder`.
  /// @param arguments argv, [0] included.
  /// @param environment `NAME=value`, the whole of it.
  /// @param gate Asked by the child when it has its own group; may be null.
  spawned start(const std::string& path,
                const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment,
                child_gate* gate = nullptr);

private:
  char* stack_ = nullptr;
  sigset_t to_reset_{};
};

struct program_path {
  std::string path;
  int error = 0; ///< ENOENT or EACCES when there is no such program.
};

/// Finds programs as `execvpe` does, in the PATH the *child* will have, and
/// remembers what it found: make one for each batch of processes.
class program_finder {
public:
  /// @param name Used as it is when it contains a slash.
  /// @param environment Of the child; its PATH counts, `/bin:/usr/bin` if none.
  const program_path& find(const std::string& name,
                           const std::vector<std::string>& environment);

private:
  std::map<std::pair<std::string, std::string>, program_path> found_;
};

} // namespace actorrun::detail
