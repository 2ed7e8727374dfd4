#include "runtime/timers/posix_session_members.hpp"

#include "runtime/os/process_lookup.hpp"

#include <limits>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

bool is_pid(int64_t x) {
  return x > 0 && x <= std::numeric_limits<pid_t>::max();
}

// A child of ours that runs: one that has ended is reported, and left as it is.
bool is_running_child(pid_t pid) {
  auto info = siginfo_t{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info,
                  WEXITED | WNOHANG | WNOWAIT)
           == 0
         && info.si_pid == 0;
}

} // namespace

std::optional<int64_t> posix_session_members::worker_of(int64_t pid) {
  if (!is_pid(pid))
    return std::nullopt;
  const auto session = ::getsid(static_cast<pid_t>(pid));
  if (session <= 0 || !is_running_child(session))
    return std::nullopt;
  return session;
}

std::optional<uint64_t> posix_session_members::birth_of(int64_t pid) {
  if (!is_pid(pid))
    return std::nullopt;
  const auto stat = read_stat(pid);
  if (!stat || stat->state == 'Z' || stat->state == 'X')
    return std::nullopt;
  return stat->birth;
}

} // namespace actorrun::detail
