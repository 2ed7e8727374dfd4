// Finds the processes that guard an agent's workers, and ends an agent with them.
#pragma once

#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test {

inline std::string name_of(pid_t pid) {
  auto text = content_of("/proc/" + std::to_string(pid) + "/comm");
  return text.substr(0, text.find('\n'));
}

/// The first process below `pid` with this name; 0: there is none.
inline pid_t find(pid_t pid, const std::string& name) {
  for (const auto x : descendants(pid))
    if (name_of(x) == name)
      return x;
  return 0;
}

/// The wardens of an agent, when both are there.
inline std::vector<pid_t> wardens_of(const program& x) {
  auto out = std::vector<pid_t>{};
  scene::require(
    eventually([&] {
      out = {find(x.pid(), "arun-warden"), find(x.pid(), "arun-second")};
      return out[0] != 0 && out[1] != 0;
    }),
    "an agent has two wardens");
  return out;
}

/// At once: the wardens stop first, because one that outlives the agent for a
/// moment ends the workers.
inline void kill_with_wardens(program& x) {
  const auto wardens = wardens_of(x);
  for (const auto pid : wardens) {
    ::kill(pid, SIGSTOP);
    const auto status = "/proc/" + std::to_string(pid) + "/status";
    scene::require(eventually([&] {
                     return content_of(status).find("State:\tT")
                            != std::string::npos;
                   }),
                   "a warden stops");
  }
  ::kill(x.pid(), SIGKILL);
  for (const auto pid : wardens)
    ::kill(pid, SIGKILL);
  x.wait();
}

} // namespace actorrun::test
