#include "runtime/timers/posix_session_members.hpp"

#include "runtime/os/file.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Of /proc/<pid>/stat, behind the name: the state is the first.
constexpr int birth_field = 20;

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

// The name, in brackets, may hold blanks and brackets itself.
std::optional<uint64_t> posix_session_members::birth_of(int64_t pid) {
  if (!is_pid(pid))
    return std::nullopt;
  const auto path = "/proc/" + std::to_string(pid) + "/stat";
  const auto content = read_kernel_file(path);
  auto text = std::string_view{content};
  const auto name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 2 >= text.size())
    return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text[0] == 'Z' || text[0] == 'X')
    return std::nullopt;
  for (auto field = 1; field < birth_field; ++field)
    text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  auto birth = uint64_t{0};
  if (std::from_chars(text.data(), text.data() + text.size(), birth).ec
      != std::errc{})
    return std::nullopt;
  return birth;
}

} // namespace actorrun::detail
