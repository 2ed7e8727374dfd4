// Owns control groups (version 2) of workers: what a worker starts cannot leave
// them, whichever session or process group it makes.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sys/types.h>

namespace actorrun::detail {

// -- async-signal-safe, for the warden's process and for children before exec --

/// Sends SIGKILL to all processes of the group at `folder` and of those below.
/// Those that are being made are killed, too.
void kill_cgroup(int folder) noexcept;

/// Whether a process of the group or of those below lives; a zombie does not.
/// True if the kernel does not say, unless the group is gone.
bool is_populated(int folder) noexcept;

/// Moves a process into the group, with all its threads. @returns 0 or an errno
int join_cgroup(int folder, pid_t pid) noexcept;

/// Removes the folder `name` of `parent` and all below it; those with processes
/// stay.
void remove_cgroup(int parent, const char* name) noexcept;

/// The same for an absolute path.
void remove_cgroup(const char* path) noexcept;

/// Kills by path, for a process that keeps no descriptor.
/// @returns whether a process lives there after it was killed
bool kill_cgroup_at(const char* path) noexcept;

// -- in the agent ---------------------------------------------------------------

/// The control group of one batch of workers; removed with the object, if it is
/// empty then.
class worker_cgroup {
public:
  worker_cgroup(std::string path, unique_fd folder)
    : path_(std::move(path)), folder_(std::move(folder)) {}
  ~worker_cgroup() { remove_cgroup(path_.c_str()); }

  worker_cgroup(const worker_cgroup&) = delete;
  worker_cgroup& operator=(const worker_cgroup&) = delete;

  /// -1: it is closed.
  int folder() const noexcept { return folder_.get(); }

  /// It stays until the object goes, but needs no descriptor any more.
  void close() { folder_.reset(); }

  const std::string& path() const { return path_; }

private:
  std::string path_;
  unique_fd folder_;
};

/// The control group of one warden: holds the groups of its batches, below the
/// group of this process.
class cgroup_home {
public:
  /// Longest path, with its end.
  static constexpr size_t path_size_max = 1024;

  /// Finds out whether a group can be made and ended by `cgroup.kill` (Linux
  /// 5.14), makes it, ends what agents that have died left in theirs, and removes
  /// those.
  /// @param parent The folder of this process's group; empty: there is none.
  explicit cgroup_home(const std::string& parent);

  /// Removes it, unless processes are left in it.
  ~cgroup_home();

  cgroup_home(const cgroup_home&) = delete;
  cgroup_home& operator=(const cgroup_home&) = delete;

  /// Empty: there is none.
  const std::string& path() const { return path_; }

  /// Why there is none.
  const std::string& obstacle() const { return obstacle_; }

  /// The group of a dead agent in which processes had outlived it; empty: none had.
  const std::string& ended() const { return ended_; }

  /// @returns null if there is none
  std::shared_ptr<worker_cgroup> open();

private:
  std::string path_;
  std::string obstacle_;
  std::string ended_;
  uint64_t last_ = 0;
};

/// Whether a group with this name belonged to a process that has ended. False
/// for what is not ours, and for processes of other namespaces.
bool is_stale_cgroup(const std::string& name);

} // namespace actorrun::detail
