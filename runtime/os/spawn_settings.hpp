// Says how a program is started that leads a process group of its own.
#pragma once

#include <csignal>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace actorrun::detail {

/// The group is in the session of this program: what has a session of its own is taken
/// for the orphan of a worker when this program has ended. No signal is blocked or
/// ignored there, and there is nothing to read.
class spawn_settings {
public:
  /// @param err Where its errors go; negative: nowhere.
  explicit spawn_settings(int out, int err = -1) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                       O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    if (err >= 0)
      ::posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    else
      ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0);
    ::posix_spawnattr_init(&attributes_);
    auto none = sigset_t{};
    auto all = sigset_t{};
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP
                                               | POSIX_SPAWN_SETSIGMASK
                                               | POSIX_SPAWN_SETSIGDEF);
  }

  ~spawn_settings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  spawn_settings(const spawn_settings&) = delete;
  spawn_settings& operator=(const spawn_settings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

} // namespace actorrun::detail
