#include "runtime/os/process_lookup.hpp"

#include "runtime/os/file.hpp"

#include <string>

namespace actorrun::detail {

std::optional<core::process_stat> read_stat(int64_t pid) {
  return core::parse_stat(
    read_kernel_file("/proc/" + std::to_string(pid) + "/stat"));
}

pid_t session_of(int64_t pid) {
  const auto stat = read_stat(pid);
  return stat ? static_cast<pid_t>(stat->session) : 0;
}

} // namespace actorrun::detail
