#include "tests/bench/program.hpp"

#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::bench {

namespace {

/// Maximum time for a launcher to stop its workers on request.
constexpr auto end_max = std::chrono::seconds{10};

/// In the words of shells.
constexpr int not_executed = 127;

/// Lines of a program's output before it failed.
constexpr size_t last_words_max = 400;

// In the child: it has only this thread, so any call is allowed.
[[noreturn]] void become(const program::command& what, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(EXIT_FAILURE);
  for (const auto& x : what.environment)
    ::putenv(const_cast<char*>(x.c_str()));
  if (!what.output.empty()) {
    const auto file = ::open(what.output.c_str(),
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
  }
  if (what.console >= 0) {
    ::dup2(what.console, STDOUT_FILENO);
    ::dup2(what.console, STDERR_FILENO);
  }
  if (what.terminal >= 0) {
    ::setsid();
    ::ioctl(what.terminal, TIOCSCTTY, 0);
    for (const auto fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      ::dup2(what.terminal, fd);
  }
  auto arguments = std::vector<char*>{};
  for (const auto& x : what.arguments)
    arguments.push_back(const_cast<char*>(x.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  ::_exit(not_executed);
}

} // namespace

std::string describe(int status) {
  if (WIFSIGNALED(status))
    return "died of signal " + std::to_string(WTERMSIG(status));
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

result<program> program::start(const command& what) {
  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid == 0)
    become(what, parent);
  if (pid < 0)
    return unmeasured(what.arguments[0] + ": " + std::strerror(errno));
  return program{pid};
}

program& program::operator=(program&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

void program::signal(int number) const {
  if (pid_ > 0)
    ::kill(pid_, number);
}

std::optional<int> program::wait(clock::time_point due) {
  using std::chrono::milliseconds;
  const auto fd
    = detail::unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  auto ready = pollfd{.fd = fd.get(), .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(due - clock::now());
    const auto limit = int(std::max<int64_t>(left.count(), 0));
    const auto count = ::poll(&ready, 1, limit);
    if (count == 0)
      return std::nullopt;
    if (count > 0)
      break;
  }
  auto status = 0;
  ::waitpid(std::exchange(pid_, 0), &status, 0);
  return status;
}

void program::end() {
  if (pid_ <= 0)
    return;
  signal(SIGTERM);
  if (wait(clock::now() + end_max))
    return;
  signal(SIGKILL);
  wait(clock::now() + end_max);
}

result<double> time_of(const program::command& what) {
  settle();
  const auto begin = stamp_now();
  auto child = program::start(what);
  if (!child)
    return child.error();
  const auto status = child->wait(deadline());
  const auto end = stamp_now();
  if (!status)
    return unmeasured(what.arguments[0] + " does not end");
  if (*status != 0)
    return unmeasured(what.arguments[0] + " " + describe(*status) + ": "
                      + last_words(what.output));
  return milliseconds_between(begin, end);
}

std::string last_words(const std::string& path) {
  auto file = std::ifstream{path};
  auto text = std::string{std::istreambuf_iterator<char>{file}, {}};
  if (text.size() > last_words_max)
    text.erase(0, text.size() - last_words_max);
  return text;
}

} // namespace actorrun::bench
