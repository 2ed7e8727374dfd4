#include "runtime/os/descriptor_room.hpp"

#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>

namespace actorrun::detail {

namespace {

/// 0: it was not raised.
rlim_t former_limit = 0;

} // namespace

// Best effort: where it fails, there is room for less.
void raise_descriptor_limit() {
  auto limit = rlimit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  const auto former = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0 && former_limit == 0)
    former_limit = former;
}

void restore_descriptor_limit() noexcept {
  auto limit = rlimit{};
  if (former_limit == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = former_limit;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

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
