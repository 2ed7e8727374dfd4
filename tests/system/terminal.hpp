// Runs a program at a pseudo-terminal, and answers what it asks.
#pragma once

#include "tests/system/scene.hpp"

#include <cerrno>
#include <csignal>
#include <map>
#include <string>
#include <string_view>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test {

class program_at_terminal {
public:
  program_at_terminal(const words& command,
                      const std::map<std::string, std::string>& environment) {
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ == 0)
      run(command, environment);
    scene::require(child_ > 0, "there is a terminal");
  }

  program_at_terminal(const program_at_terminal&) = delete;
  program_at_terminal& operator=(const program_at_terminal&) = delete;

  ~program_at_terminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(terminal_);
  }

  /// Waits until it has written a text; fails the test if it ends without.
  void await(std::string_view text) {
    while (shown_.find(text) == shown_.npos)
      scene::require(read_some(),
                     "it shows '" + std::string{text} + "': " + shown_);
  }

  void type(std::string_view keys) {
    scene::require(::write(terminal_, keys.data(), keys.size())
                     == static_cast<ssize_t>(keys.size()),
                   "it takes keys");
  }

  /// @returns its exit code
  int wait() {
    while (read_some()) {
    }
    auto status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  const std::string& shown() const { return shown_; }

private:
  [[noreturn]] static void
  run(const words& command,
      const std::map<std::string, std::string>& environment) {
    ::clearenv();
    for (const auto& [name, value] : environment)
      ::setenv(name.c_str(), value.c_str(), 1);
    auto arguments = std::vector<char*>{};
    for (const auto& x : command)
      arguments.push_back(const_cast<char*>(x.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }

  /// @returns false if it has ended; fails the test if nothing comes
  bool read_some() {
    auto wanted = pollfd{terminal_, POLLIN, 0};
    const auto limit = static_cast<int>(timeout.count());
    scene::require(::poll(&wanted, 1, limit) == 1, "it says more: " + shown_);
    char some[1'024];
    const auto count = ::read(terminal_, some, sizeof some);
    if (count > 0)
      shown_.append(some, static_cast<size_t>(count));
    return count > 0;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
  std::string shown_;
};

} // namespace actorrun::test
