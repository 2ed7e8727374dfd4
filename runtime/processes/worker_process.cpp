#include "runtime/processes/worker_process.hpp"

#include <cerrno>
#include <csignal>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr int unknown_exit_code = 255;

/// PIDFD_SIGNAL_PROCESS_GROUP of Linux 6.9, which Debian's headers lack.
constexpr unsigned signal_process_group = 1U << 2;

exit_status to_status(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED)
    return {.exit_code = info.si_status};
  return {.signal = info.si_status, .dumped = info.si_code == CLD_DUMPED};
}

} // namespace

std::optional<exit_status> worker_process::poll_exit() {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(pidfd.get());
  if (::waitid(P_PIDFD, id, &info, WEXITED | WNOWAIT | WNOHANG) == 0) {
    if (info.si_pid == 0)
      return std::nullopt;
    ended = true;
    return to_status(info);
  }
  if (errno != ECHILD)
    return std::nullopt;
  ended = reaped_elsewhere = true;
  registration.reset();
  return exit_status{.exit_code = unknown_exit_code, .unknown = true};
}

// A pidfd still identifies the group after the leader was reaped; kernels
// before 6.9 refuse, and then the rest of the group cannot be signalled safely.
void worker_process::kill_group(int signal) const {
  if (reaped_elsewhere)
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr,
              signal_process_group);
  else
    ::kill(-pid, signal);
}

// SIGKILL ends stopped processes, and after SIGSTOP they shall not continue.
void worker_process::end_group(int signal, ports::signal_scope scope) const {
  if (scope == ports::signal_scope::worker && signal != SIGKILL)
    signal_leader(signal);
  else
    kill_group(signal);
  if (signal != SIGKILL && signal != SIGSTOP && signal != SIGTSTP)
    kill_group(SIGCONT);
}

void worker_process::signal_leader(int signal) const {
  if (!ended)
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

void worker_process::reap() {
  registration.reset();
  auto info = siginfo_t{};
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG);
  pidfd.reset();
}

} // namespace actorrun::detail
