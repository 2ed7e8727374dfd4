#include "runtime/logs/rotation.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// In bytes. The smallest size of a block.
constexpr uint64_t block_min = 4096;

/// In bytes, for file systems that cannot copy by themselves.
constexpr size_t copy_size = 128 * 1024;

failure failed(const std::string& path, std::string_view what, int error) {
  return {errc::log_failed, formatted("cannot rotate the log file {}: {}: {}",
                                      path, what, core::error_text(error))};
}

std::string numbered(const std::string& path, uint32_t number) {
  return path + "." + std::to_string(number);
}

// Only whole blocks can be removed, and never the last one: file systems only
// move what follows.
uint64_t aligned(int fd, uint64_t limit) {
  struct stat info {};
  struct statvfs system {};
  if (::fstat(fd, &info) != 0 || ::fstatvfs(fd, &system) != 0
      || info.st_size <= 0)
    return 0;
  const auto size = static_cast<uint64_t>(info.st_size);
  const auto block = std::max<uint64_t>(system.f_bsize, block_min);
  return std::min(limit, size - 1) / block * block;
}

// -- giving space back --------------------------------------------------------

/// By how much offsets have become smaller; none: the bytes are still there.
std::optional<uint64_t> take_away(const rotating_file& file, uint64_t end) {
  if (::fallocate(file.fd, FALLOC_FL_COLLAPSE_RANGE, 0, static_cast<off_t>(end))
      == 0)
    return end;
  if (::fallocate(file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(file.begin),
                  static_cast<off_t>(end - file.begin))
      == 0)
    return 0;
  return std::nullopt;
}

void note_gone(rotating_file& file, uint64_t end, uint64_t shift) {
  file.begin = shift > 0 ? 0 : end;
}

// -- copying ------------------------------------------------------------------

// 0, or an errno.
int copy_by_hand(int from, uint64_t begin, uint64_t end, int to) {
  auto buffer = std::array<char, copy_size>{};
  while (begin < end) {
    const auto wanted = std::min<uint64_t>(buffer.size(), end - begin);
    const auto count
      = ::pread(from, buffer.data(), wanted, static_cast<off_t>(begin));
    if (count <= 0)
      return count == 0 ? ENODATA : errno;
    if (const auto error
        = write_all(to, {buffer.data(), static_cast<size_t>(count)}))
      return error;
    begin += static_cast<uint64_t>(count);
  }
  return 0;
}

int copy(int from, uint64_t begin, uint64_t end, int to) {
  auto offset = static_cast<off_t>(begin);
  while (static_cast<uint64_t>(offset) < end) {
    const auto count = ::copy_file_range(
      from, &offset, to, nullptr, end - static_cast<uint64_t>(offset), 0);
    if (count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
      return errno;
    if (count <= 0)
      return copy_by_hand(from, static_cast<uint64_t>(offset), end, to);
  }
  return 0;
}

void rename(const located& where, const std::string& from,
            const std::string& to) {
  ::renameat(where.at(), from.c_str(), where.at(), to.c_str());
}

// Renames each numbered file to the next number; the last one is lost.
void shift_numbers(const located& where, uint32_t keep) {
  for (auto i = keep; i > 1; --i)
    rename(where, numbered(where.name, i - 1), numbered(where.name, i));
}

} // namespace

rotation_means probe_rotation(const std::string& folder) {
  const auto fd
    = unique_fd{::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  return probe_rotation(fd.get());
}

rotation_means probe_rotation(int folder) {
  const auto fd = unique_fd{
    ::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (!fd)
    return rotation_means::none;
  struct statvfs system {};
  if (::fstatvfs(fd.get(), &system) != 0)
    return rotation_means::none;
  const auto block = std::max<uint64_t>(system.f_bsize, block_min);
  const auto file = rotating_file{.fd = fd.get(), .path = {}};
  if (::ftruncate(fd.get(), static_cast<off_t>(2 * block)) != 0)
    return rotation_means::none;
  const auto shift = take_away(file, block);
  if (!shift)
    return rotation_means::none;
  return *shift > 0 ? rotation_means::collapse : rotation_means::punch;
}

// The copy is complete before bytes are removed, and gets its name afterwards:
// no byte is lost, whatever fails.
result<uint64_t> rotate(rotating_file& file, uint64_t limit, uint32_t keep) {
  const auto end = aligned(file.fd, limit);
  if (end <= file.begin)
    return uint64_t{0};
  const auto where = locate(file.path);
  if (!where)
    return failed(file.path, where.parent.why, where.parent.error);
  const auto fresh = where.name + ".rotating";
  constexpr auto mode = mode_t{0666};
  const auto to = unique_fd{
    ::openat(where.at(), fresh.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  if (!to)
    return failed(file.path, file.path + ".rotating", errno);
  if (const auto error = copy(file.fd, file.begin, end, to.get()); error != 0) {
    ::unlinkat(where.at(), fresh.c_str(), 0);
    return failed(file.path, "its copy", error);
  }
  const auto shift = take_away(file, end);
  if (!shift) {
    const auto error = errno;
    ::unlinkat(where.at(), fresh.c_str(), 0);
    return failed(file.path, "the file system keeps the beginning of files",
                  error);
  }
  note_gone(file, end, *shift);
  shift_numbers(where, keep);
  rename(where, fresh, numbered(where.name, 1));
  return *shift;
}

uint64_t discard(rotating_file& file, uint64_t limit) {
  const auto end = aligned(file.fd, limit);
  if (end <= file.begin)
    return 0;
  const auto shift = take_away(file, end);
  if (!shift)
    return 0;
  note_gone(file, end, *shift);
  return *shift;
}

} // namespace actorrun::detail
