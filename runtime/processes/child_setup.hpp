// Sets up a new process before it runs its program: session, death signal,
// descriptors, signals.
#pragma once

#include <csignal>
#include <cstddef>
#include <span>

#include <sys/types.h>

namespace actorrun::detail {

/// At most this many descriptors of a process besides its standard streams. They
/// fit into one message to a fork server; the system allows 253.
inline constexpr size_t descriptor_count_max = 128;

/// The first number they get.
inline constexpr int first_descriptor = 3;

/// Runs between clone and exec. Both functions may run in a child that still
/// shares the memory of its parent: they may only call async-signal-safe
/// functions and only write what they own.
class child_gate {
public:
  /// @returns 0 to go on, or the errno to fail with
  virtual int enter(pid_t self) noexcept = 0;

  /// The program could not be executed; the child ends after this.
  virtual void leave() noexcept = 0;

  /// The folder of the control group in which the child starts; -1: it stays in
  /// that of its parent.
  virtual int cgroup() const noexcept { return -1; }

protected:
  ~child_gate() = default;
};

/// The descriptors of a child, by their numbers in the parent.
struct child_files {
  int out = -1; ///< Becomes 1, from 3 on; -1: the child inherits 1.
  int err = -1; ///< Becomes 2, likewise; may be the same as `out`.
  /// Become 3, 4, …; at most `descriptor_count_max` and one, any numbers.
  std::span<const int> descriptors{};
  int in = -1; ///< Becomes 0, from 3 on; -1: the child inherits 0.
};

// The functions below are async-signal-safe and return 0 or an errno.

/// Leads a session and a process group of its own from now on, passes `gate` if
/// there is one, and dies with the thread that is its parent.
/// @param parent Its process: ESRCH if that has died meanwhile.
int lead_session(pid_t parent, child_gate* gate) noexcept;

/// Puts the descriptors in their places and closes all others from 3 on.
int place_files(const child_files& files) noexcept;

/// The signals that have handlers or are ignored in this process.
sigset_t changed_signals() noexcept;

/// Gives `changed` their default actions, then unblocks all signals.
void reset_signals(const sigset_t& changed) noexcept;

} // namespace actorrun::detail
