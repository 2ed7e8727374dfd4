#include "runtime/os/descriptor_room.hpp"

#include "runtime/os/unique_fd.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/resource.h>

namespace actorrun::detail {

// The table never shrinks: a descriptor with the highest number is enough.
void make_descriptor_room(int open, size_t count) {
  auto limit = rlimit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  const auto last = std::min<rlim_t>(count, limit.rlim_cur) - 1;
  if (count > 0)
    unique_fd{::fcntl(open, F_DUPFD_CLOEXEC, static_cast<int>(last))};
}

} // namespace actorrun::detail
