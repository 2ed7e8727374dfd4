#include "runtime/logs/log_history.hpp"

#include "actors/core/workers/worker_outputs.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// A file that is rotated again and again is opened as it is.
constexpr auto attempt_count_max = 8;

/// As `st_blocks` counts.
constexpr auto block_unit = uint64_t{512};

/// The beginning may be a hole, which rotation has left.
uint64_t data_begin(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0
      || uint64_t(info.st_blocks) * block_unit >= uint64_t(info.st_size))
    return 0;
  const auto at = ::lseek(fd, 0, SEEK_DATA);
  return at < 0 ? 0 : static_cast<uint64_t>(at);
}

} // namespace

result<std::optional<log_history>>
log_history::open(const std::string& path, std::shared_ptr<file_shift> shift) {
  for (auto attempt = 1;; ++attempt) {
    const auto seen = shift->see();
    auto live = open_regular_file(path);
    if (!live)
      return live.error();
    if (!*live)
      return std::optional<log_history>{};
    auto out = log_history{std::move(**live), shift, seen.removed};
    out.open_older(path);
    if (shift->is_still(seen) || attempt == attempt_count_max)
      return std::optional{std::move(out)};
  }
}

void log_history::open_older(const std::string& path) {
  for (uint32_t i = 1; i <= core::rotate_keep_max; ++i) {
    auto x = open_regular_file(path + "." + std::to_string(i));
    if (!x || !*x)
      break;
    older_.push_back({std::move(**x)});
  }
  std::ranges::reverse(older_);
  for (auto& x : older_) {
    x.begin = live_begin_;
    live_begin_ += x.file.size;
  }
  if (older_.empty())
    begin_ = data_begin(live_.fd.get());
}

uint64_t log_history::end() const {
  struct stat info {};
  if (::fstat(live_.fd.get(), &info) != 0)
    return live_begin_;
  return live_begin_ + (shift_->see().removed - removed_)
         + static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
}

int64_t log_history::changed_ms() const {
  struct stat info {};
  if (::fstat(live_.fd.get(), &info) != 0)
    return 0;
  return int64_t{info.st_mtim.tv_sec} * 1'000
         + info.st_mtim.tv_nsec / 1'000'000;
}

log_history::part log_history::read(uint64_t offset, size_t limit) const {
  for (const auto& x : older_ | std::views::reverse) {
    if (offset < x.begin || offset >= x.begin + x.file.size)
      continue;
    const auto at = offset - x.begin;
    return {read_part(x.file, at, std::min<uint64_t>(limit, x.file.size - at))};
  }
  const auto seen = shift_->see();
  if (seen.is_moving())
    return {};
  const auto front = live_begin_ + (seen.removed - removed_);
  auto out = part{{}, offset < front ? front - offset : 0};
  out.bytes = read_part(live_, std::max(offset, front) - front, limit);
  return shift_->is_still(seen) ? out : part{};
}

} // namespace actorrun::detail
