#include "messages/formatted.hpp"
#include "runtime/checks/built_in_checks.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

namespace fs = std::filesystem;

using disk_clock = std::chrono::steady_clock;

/// In bytes, of the file that is written.
constexpr size_t probe_size = size_t{1} * 1'024 * 1'024;

/// What a folder that is not there yet would be made in.
std::string existing_folder(const std::string& folder) {
  auto path = fs::absolute(folder);
  auto error = std::error_code{};
  while (!fs::exists(path, error) && path.has_relative_path())
    path = path.parent_path();
  return path.string();
}

failure cannot(const char* what, const std::string& folder, int error) {
  return system_failure(
    formatted("{}: cannot {}: {}", folder, what, system_error_text(error)));
}

/// A file without a name from its beginning on: nothing stays if this process is killed.
result<unique_fd> open_probe(const std::string& folder) {
  constexpr auto mode = 0600;
  auto fd
    = unique_fd{::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode)};
  if (fd)
    return fd;
  // Not every file system has such files, as NFS.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return cannot("make a file", folder, errno);
  auto name = folder + "/.actorrun-check-XXXXXX";
  fd = unique_fd{::mkostemp(name.data(), O_CLOEXEC)};
  if (!fd)
    return cannot("make a file", folder, errno);
  ::unlink(name.c_str());
  return fd;
}

std::string probe_content() {
  auto out = std::string(probe_size, '\0');
  auto state = uint32_t{2'463'534'242};
  for (auto& x : out) {
    state ^= state << 13U;
    state ^= state >> 17U;
    state ^= state << 5U;
    x = static_cast<char>(state);
  }
  return out;
}

result<std::string> read_probe(int fd, const std::string& folder) {
  auto out = std::string(probe_size, '\0');
  for (size_t at = 0; at < out.size();) {
    const auto n
      = ::pread(fd, out.data() + at, out.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n == 0 ? system_failure(
               formatted("{}: only {} of {} bytes can be read back", folder, at,
                         out.size()))
                    : cannot("read a file back", folder, errno);
    at += static_cast<size_t>(n);
  }
  return out;
}

std::string time_text(disk_clock::duration x) {
  return formatted("{:.1f} ms",
                   std::chrono::duration<double, std::milli>(x).count());
}

std::string free_text(const std::string& folder) {
  struct statvfs facts {};
  if (::statvfs(folder.c_str(), &facts) != 0)
    return {};
  constexpr auto mib = 1'024.0 * 1'024;
  const auto free = double(facts.f_bavail) * double(facts.f_frsize) / mib;
  return free < 1'024 ? formatted("; {:.1f} MiB free", free)
                      : formatted("; {:.1f} GiB free", free / 1'024);
}

result<void> check_folder(const std::string& folder,
                          const check_listener& say) {
  const auto probe = open_probe(folder);
  if (!probe)
    return probe.error();
  const auto fd = probe->get();
  const auto content = probe_content();
  const auto begun = disk_clock::now();
  if (const auto error = write_all(fd, content); error != 0)
    return cannot("write a file", folder, error);
  if (::fsync(fd) != 0)
    return cannot("write a file to the disk", folder, errno);
  const auto written = disk_clock::now();
  // Else the kernel's memory answers, not the disk.
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const auto back = read_probe(fd, folder);
  if (!back)
    return back.error();
  const auto read = disk_clock::now();
  if (*back != content)
    return system_failure(folder
                          + ": what is read back is not what was written");
  say(formatted("{}: 1 MiB is on the disk after {}, and read back after {}{}",
                folder, time_text(written - begun), time_text(read - written),
                free_text(folder)));
  return {};
}

} // namespace

result<void> check_disk(const std::vector<std::string>& folders,
                        const check_listener& say) {
  const auto* temporary = std::getenv("TMPDIR");
  auto all = std::vector<std::string>{
    temporary != nullptr && *temporary == '/' ? temporary : "/tmp"};
  all.insert(all.end(), folders.begin(), folders.end());
  auto seen = std::set<std::string>{};
  for (const auto& x : all) {
    const auto folder = existing_folder(x);
    if (!seen.insert(folder).second)
      continue;
    if (auto ok = check_folder(folder, say); !ok)
      return ok;
  }
  return {};
}

} // namespace actorrun::detail
