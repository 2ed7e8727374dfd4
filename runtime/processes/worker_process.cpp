#include "runtime/processes/worker_process.hpp"

#include "runtime/os/process_lookup.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr int unknown_exit_code = 255;

/// PIDFD_SIGNAL_PROCESS_GROUP of Linux 6.9, which Debian's headers lack.
constexpr unsigned signal_process_group = 1U << 2;

exit_status to_status(const siginfo_t& info, const rusage& usage) {
  constexpr auto kibibyte = uint64_t{1} << 10;
  auto out = exit_status{.memory = uint64_t(usage.ru_maxrss) * kibibyte};
  if (info.si_code == CLD_EXITED) {
    out.exit_code = info.si_status;
  } else {
    out.signal = info.si_status;
    out.dumped = info.si_code == CLD_DUMPED;
  }
  return out;
}

uint64_t bit_of(int signal) {
  return signal > 0 && signal < 64 ? uint64_t{1} << signal : 0;
}

} // namespace

std::optional<exit_status> worker_process::poll_exit() {
  auto info = siginfo_t{};
  auto usage = rusage{}; // Only the system call itself has it.
  if (::syscall(SYS_waitid, P_PIDFD, pidfd.get(), &info,
                WEXITED | WNOWAIT | WNOHANG, &usage)
      == 0) {
    if (info.si_pid == 0)
      return std::nullopt;
    ended = true;
    return to_status(info, usage);
  }
  if (errno != ECHILD)
    return std::nullopt;
  ended = reaped_elsewhere = true;
  registration.reset();
  return exit_status{.exit_code = unknown_exit_code, .unknown = true};
}

// A pidfd still identifies the group after the leader was reaped; kernels
// before 6.9 refuse, and then the rest of the group cannot be signalled safely.
void worker_process::send_to_group(int signal) const {
  if (reaped_elsewhere)
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr,
              signal_process_group);
  else
    ::kill(-pid, signal);
}

void worker_process::kill_group(int signal) {
  order();
  note(signal);
  send_to_group(signal);
}

// SIGKILL ends stopped processes, and after SIGSTOP they shall not continue.
void worker_process::end_group(int signal, ports::signal_scope scope) {
  order();
  if (scope == ports::signal_scope::worker && signal != SIGKILL)
    signal_leader(signal);
  else
    kill_group(signal);
  if (signal != SIGKILL && signal != SIGSTOP && signal != SIGTSTP)
    send_to_group(SIGCONT);
}

void worker_process::signal_leader(int signal) {
  look();
  note(signal);
  if (!ended)
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

void worker_process::order() {
  look();
  if (!ended && !found_ending)
    is_ordered = true;
}

void worker_process::countermand() {
  is_ordered = false;
  sent = 0;
}

// Where /proc is that of other processes, the session is another one.
void worker_process::look() {
  if (ended || found_ending)
    return;
  const auto stat = read_stat(pid);
  if (stat && stat->session == pid && stat->is_ending())
    found_ending = std::chrono::steady_clock::now();
}

// The first signal that is to end a process decides; those that follow do not.
void worker_process::note(int signal) {
  if (!ended && !found_ending)
    sent |= bit_of(signal);
}

bool worker_process::has_sent(int signal) const {
  return (sent & bit_of(signal)) != 0
         || (signal == SIGKILL && registration.was_killed());
}

void worker_process::reap() {
  registration.reset();
  auto info = siginfo_t{};
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG);
  pidfd.reset();
}

} // namespace actorrun::detail
