#include "cli/init_process.hpp"

#include "runtime/program_end.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

/// Between two looks for wardens after the end of the agent. Each of their ends sends
/// SIGCHLD; this is for a kernel that gives them another parent.
constexpr auto look_interval = timespec{.tv_sec = 1, .tv_nsec = 0};

/// A signal of the terminal has reached the child already: it is in our group.
bool is_from_terminal(const siginfo_t& x) {
  return x.si_code == SI_KERNEL
         && (x.si_signo == SIGINT || x.si_signo == SIGQUIT
             || x.si_signo == SIGTSTP || x.si_signo == SIGWINCH);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Reaps all that have ended, and notes how the child has.
void reap(pid_t child, bool& has_ended, int& code) {
  auto status = 0;
  for (auto pid = pid_t{}; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == child) {
      has_ended = true;
      code = code_of(status);
    }
}

[[noreturn]] void be_init(pid_t child, const sigset_t& all) {
  ::prctl(PR_SET_NAME, "arun-init");
  ::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U);
  auto has_ended = false;
  auto code = 0;
  for (;;) {
    reap(child, has_ended, code);
    if (has_ended && !has_wardens())
      ::_exit(code);
    auto info = siginfo_t{};
    const auto signal = has_ended ? ::sigtimedwait(&all, &info, &look_interval)
                                  : ::sigwaitinfo(&all, &info);
    if (signal <= 0 || signal == SIGCHLD || is_from_terminal(info))
      continue;
    if (has_ended && signal != SIGCONT && signal != SIGURG
        && signal != SIGWINCH)
      ::_exit(code); // Who asks again does not want to wait for proofs.
    ::kill(child, signal);
  }
}

} // namespace

// All signals are blocked while there are two of us: none is lost or taken for the
// other's.
void live_below_init() {
  if (::getpid() != 1)
    return;
  auto all = sigset_t{};
  auto before = sigset_t{};
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const auto child = ::fork();
  if (child > 0)
    be_init(child, all);
  ::sigprocmask(SIG_SETMASK, &before,
                nullptr); // Without a child it goes alone.
}

} // namespace actorrun::cli
