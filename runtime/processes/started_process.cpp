#include "runtime/processes/started_process.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"

#include <cerrno>
#include <csignal>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

started_process not_started(int error, std::string subject) {
  if (const auto limit = limit_behind(error); !limit.empty())
    subject += formatted(" ({})", limit);
  return {.error = error, .subject = std::move(subject)};
}

void end_process(pid_t pid, const unique_fd& pidfd) {
  if (pidfd)
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  else
    ::kill(pid, SIGKILL);
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(pid);
  while (::waitid(P_PID, id, &info, WEXITED) != 0 && errno == EINTR) {
  }
}

} // namespace actorrun::detail
