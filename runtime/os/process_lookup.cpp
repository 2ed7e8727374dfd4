#include "runtime/os/process_lookup.hpp"

#include "actors/core/vitals/kernel_text.hpp"
#include "runtime/os/file.hpp"

#include <string>

namespace actorrun::detail {

std::optional<core::process_stat> read_stat(int64_t pid) {
  return core::parse_stat(
    read_kernel_file("/proc/" + std::to_string(pid) + "/stat"));
}

std::vector<int64_t> children_of(int64_t pid, size_t count_max) {
  constexpr auto digits_max = size_t{20}; // And a blank.
  const auto number = std::to_string(pid);
  return core::parse_pids(
    read_kernel_file("/proc/" + number + "/task/" + number + "/children",
                     count_max * digits_max),
    count_max);
}

pid_t session_of(int64_t pid) {
  const auto stat = read_stat(pid);
  return stat ? static_cast<pid_t>(stat->session) : 0;
}

} // namespace actorrun::detail
