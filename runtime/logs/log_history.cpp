#include "runtime/logs/log_history.hpp"

#include "actors/core/workers/worker_outputs.hpp"

#include <algorithm>
#include <ranges>
#include <thread>
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

/// The newest first.
std::vector<regular_file> open_older(const std::string& path) {
  auto out = std::vector<regular_file>{};
  for (uint32_t i = 1; i <= core::rotate_keep_max; ++i) {
    auto x = open_regular_file(path + "." + std::to_string(i));
    if (!x || !*x)
      break;
    out.push_back(std::move(**x));
  }
  return out;
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
    auto out = log_history{std::move(**live), shift, seen};
    auto older = open_older(path);
    for (const auto& x : older)
      out.live_begin_ += x.size;
    out.place(std::move(older));
    if (out.older_.empty())
      out.begin_ = data_begin(out.live_.fd.get());
    if (shift->is_still(seen) || attempt == attempt_count_max)
      return std::optional{std::move(out)};
  }
}

bool log_history::reopen(const std::string& path) {
  for (auto attempt = 1; attempt <= attempt_count_max; ++attempt) {
    const auto seen = shift_->see();
    if (seen.given_up != opened_.given_up)
      return false;
    auto older = open_older(path);
    if (!shift_->is_still(seen))
      continue;
    live_begin_ = front(seen);
    opened_ = seen;
    place(std::move(older));
    return true;
  }
  return false;
}

/// They end where the live file begins. Those that were not there at first are
/// left out.
void log_history::place(std::vector<regular_file> older) {
  older_.clear();
  auto begin = live_begin_;
  for (auto& x : older) {
    if (x.size > begin)
      break;
    begin -= x.size;
    older_.push_back({std::move(x), begin});
  }
  std::ranges::reverse(older_);
}

uint64_t log_history::front(const file_shift::view& now) const {
  return live_begin_ + (now.removed - opened_.removed);
}

// A rotation takes much less time than a look at its beginning and its end.
uint64_t log_history::end() const {
  for (auto attempt = 1;; ++attempt) {
    struct stat info {};
    const auto seen = shift_->see();
    if (::fstat(live_.fd.get(), &info) != 0)
      return live_begin_;
    if (shift_->is_still(seen) || attempt == attempt_count_max)
      return front(seen)
             + static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
    std::this_thread::yield();
  }
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
  const auto begin = front(seen);
  auto out = part{{}, offset < begin ? begin - offset : 0};
  out.bytes = read_part(live_, std::max(offset, begin) - begin, limit);
  return shift_->is_still(seen) ? out : part{};
}

} // namespace actorrun::detail
