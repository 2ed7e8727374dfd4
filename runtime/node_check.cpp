#include "runtime/node_check.hpp"

#include "actors/core/text.hpp"
#include "runtime/checks/built_in_checks.hpp"

#include <array>
#include <cerrno>
#include <climits>

#include <unistd.h>

namespace actorrun {

result<void>
run_node_check(core::built_in_check which,
               const std::vector<std::string>& folders,
               const std::function<void(const std::string& line)>& say) {
  switch (which) {
    case core::built_in_check::clock:
      return detail::check_clock(say);
    case core::built_in_check::disk:
      return detail::check_disk(folders, say);
    case core::built_in_check::gpu_quick:
      return detail::check_gpus_quickly(say);
    case core::built_in_check::gpu:
      return detail::check_gpus(say);
  }
  return system_failure("there is no such check");
}

result<std::string> own_program_file() {
  auto path = std::array<char, PATH_MAX>{};
  const auto n = ::readlink("/proc/self/exe", path.data(), path.size());
  if (n <= 0 || static_cast<size_t>(n) >= path.size())
    return system_failure("cannot find the file of this program: "
                          + core::error_text(errno));
  return std::string{path.data(), static_cast<size_t>(n)};
}

} // namespace actorrun
