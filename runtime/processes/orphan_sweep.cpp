#include "runtime/processes/orphan_sweep.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
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
    auto file = std::ifstream{tasks->path() / "children"};
    for (auto pid = pid_t{}; file >> pid;)
      result.insert(pid);
  }
  return result;
}

// 0 if there is no such process. The name may contain blanks and brackets.
pid_t session_of(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/stat"};
  auto text = std::string{};
  std::getline(file, text, '\0');
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos)
    return 0;
  auto fields = std::istringstream{text.substr(name_end + 1)};
  auto state = char{};
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  fields >> state >> parent >> group >> session;
  return session;
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
