#include "runtime/processes/child_setup.hpp"

#include <cassert>
#include <cerrno>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

int lead_session(pid_t parent, child_gate* gate) noexcept {
  if (::setsid() < 0)
    return errno;
  // Before the death signal: from here on the warden knows this group.
  if (gate)
    if (const auto error = gate->enter(::getpid()))
      return error;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return errno;
  // A parent that died before the call above sends no signal any more.
  return ::getppid() == parent ? 0 : ESRCH;
}

// Two steps, because the targets of some may be the sources of others. The
// outputs come between: their sources are not targets yet, and their targets
// may be sources of descriptors.
int place_files(const child_files& files) noexcept {
  constexpr auto count_max = descriptor_count_max + 1;
  assert(files.descriptors.size() <= count_max);
  const auto count = static_cast<int>(files.descriptors.size());
  const auto first_free = first_descriptor + count;
  int lifted[count_max];
  for (auto i = 0; i < count; ++i) {
    lifted[i] = ::fcntl(files.descriptors[i], F_DUPFD, first_free);
    if (lifted[i] < 0)
      return errno;
  }
  if (files.in >= 0 && ::dup2(files.in, STDIN_FILENO) < 0)
    return errno;
  if (files.out >= 0 && ::dup2(files.out, STDOUT_FILENO) < 0)
    return errno;
  if (files.err >= 0 && ::dup2(files.err, STDERR_FILENO) < 0)
    return errno;
  for (auto i = 0; i < count; ++i)
    if (::dup2(lifted[i], first_descriptor + i) < 0)
      return errno;
  const auto first = static_cast<unsigned>(first_free);
  return ::syscall(SYS_close_range, first, ~0U, 0U) == 0 ? 0 : errno;
}

sigset_t changed_signals() noexcept {
  auto result = sigset_t{};
  sigemptyset(&result);
  for (auto number = 1; number < NSIG; ++number) {
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_DFL)
      sigaddset(&result, number);
  }
  return result;
}

// First the handlers, then the mask, because no handler of the parent may run.
void reset_signals(const sigset_t& changed) noexcept {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (auto number = 1; number < NSIG; ++number)
    if (sigismember(&changed, number) == 1)
      ::sigaction(number, &action, nullptr);
  auto none = sigset_t{};
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

} // namespace actorrun::detail
