#include "runtime/processes/orphan_sweep.hpp"

#include "messages/formatted.hpp"
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

// A zombie stays in the group in which it has ended.
bool is_within(pid_t pid, const std::string& home) {
  return !home.empty()
         && read_kernel_file(formatted("/proc/{}/cgroup", pid)).find(home)
              != std::string::npos;
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

size_t reap_orphans(const std::set<pid_t>& sessions, const std::string& home,
                    bool owns_all) {
  const auto own_session = ::getsid(0);
  size_t count = 0;
  for (const auto pid : children()) {
    if (sessions.contains(pid))
      continue;
    const auto stat = read_stat(pid);
    if (!stat || stat->state != 'Z')
      continue;
    const auto session = static_cast<pid_t>(stat->session);
    if (!(owns_all && session != own_session) && !sessions.contains(session)
        && !is_within(pid, home))
      continue;
    auto info = siginfo_t{};
    const auto id = static_cast<id_t>(pid);
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0)
      ++count;
  }
  return count;
}

} // namespace actorrun::detail
