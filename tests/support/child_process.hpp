// A child process with a session of its own, as a worker has, that runs a
// function of a test.
#pragma once

#include "tests/support/catch.hpp"

#include <csignal>
#include <functional>
#include <utility>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test {

class child_process {
public:
  /// Returns once `prepare` has run in the child.
  /// @param live Runs after it; when it returns, the child ends.
  explicit child_process(
    const std::function<void()>& prepare = [] {},
    const std::function<void()>& live =
      [] {
        for (;;)
          ::pause();
      }) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setsid();
      prepare();
      if (::write(ready[1], "", 1) == 1)
        live();
      ::_exit(0);
    }
    ::close(ready[1]);
    char byte = 0;
    const auto n = ::read(ready[0], &byte, 1);
    ::close(ready[0]);
    REQUIRE(n == 1);
  }

  ~child_process() { end(); }

  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  pid_t pid() const { return pid_; }

  void signal(int number) const { ::kill(pid_, number); }

  /// Kills it with its group, and does not wait for it.
  void kill() const { ::kill(-pid_, SIGKILL); }

  /// Waits until it has ended, and leaves it as it is.
  void await_end() const {
    auto info = siginfo_t{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }

  /// Kills it and waits for it; its number may have another process then.
  void end() {
    if (const auto pid = std::exchange(pid_, 0); pid > 0) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

private:
  pid_t pid_ = 0;
};

} // namespace actorrun::test
