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

// Half for the store: workers cannot do without. The rest of what is not reserved goes
// in eighths: two to the pending ones, half of one each to those that stand by and that
// ask, one to viewers.
descriptor_shares shares_of(uint64_t limit) {
  const auto pool
    = limit > 2 * descriptor_reserve ? limit - descriptor_reserve : limit / 2;
  const auto part = [&](uint64_t divisor) {
    return static_cast<size_t>(std::max<uint64_t>(1, pool / divisor));
  };
  return {.pending = part(12),
          .standby = part(16),
          .questions = part(16),
          .viewers = part(16),
          .store = part(2)};
}

descriptor_shares descriptor_shares_now() {
  auto limit = rlimit{};
  return shares_of(::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur
                                                           : rlim_t{1'024});
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
