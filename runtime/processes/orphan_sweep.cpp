#include "runtime/processes/orphan_sweep.hpp"

#include "runtime/os/file.hpp"
#include "runtime/os/process_lookup.hpp"

#include <csignal>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// Any thread of this process may have adopted them, so ask all.
std::set<pid_t> children() {
  auto result = std::set<pid_t>{};
  auto error = std::error_code{};
  auto tasks = std::filesystem::directory_iterator{"/proc/self/task", error};
  for (; !error && tasks != std::filesystem::end(tasks);
       tasks.increment(error)) {
    auto pids
      = std::istringstream{read_kernel_file(tasks->path() / "children")};
    for (auto pid = pid_t{}; pids >> pid;)
      result.insert(pid);
  }
  return result;
}

} // namespace

bool adopts_orphans() {
  auto subreaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  return subreaper != 0 || ::getpid() == 1;
}

size_t sweep_orphans(const std::set<pid_t>& sessions) {
  size_t count = 0;
  for (const auto pid : children()) {
    if (sessions.contains(pid) || !sessions.contains(session_of(pid)))
      continue;
    ++count;
    ::kill(pid, SIGKILL);
    auto info = siginfo_t{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
  }
  return count;
}

} // namespace actorrun::detail
