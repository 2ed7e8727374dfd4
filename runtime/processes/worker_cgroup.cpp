#include "runtime/processes/worker_cgroup.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/control_group.hpp"
#include "runtime/os/process_lookup.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/processes/directory_entry.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr auto name_prefix = std::string_view{"actorrun-"};

/// Deeper groups are left: a worker that nests so many does not mean to end.
constexpr auto depth_max = 8;

/// A start waits at most this long for the end of what an earlier agent has left.
constexpr auto stale_end_max = std::chrono::milliseconds{500};
constexpr auto stale_interval = std::chrono::milliseconds{1};

int open_folder(int parent, const char* name) noexcept {
  return ::openat(parent, name,
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

int write_to(int folder, const char* file, const char* text,
             size_t size) noexcept {
  const auto fd = ::openat(folder, file, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return errno;
  const auto error = ::write(fd, text, size) < 0 ? errno : 0;
  ::close(fd);
  return error;
}

bool is_child(const directory_entry& x) noexcept {
  constexpr unsigned char folder_type = 4; // DT_DIR
  return x.type == folder_type && std::strcmp(x.name, ".") != 0
         && std::strcmp(x.name, "..") != 0;
}

void remove_below(int folder, int depth) noexcept {
  if (depth == 0)
    return;
  alignas(directory_entry) char buffer[2048];
  auto size = long{0};
  while ((size = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < size;) {
      const auto* x = reinterpret_cast<const directory_entry*>(buffer + at);
      at += x->length;
      if (!is_child(*x))
        continue;
      if (const auto child = open_folder(folder, x->name); child >= 0) {
        remove_below(child, depth - 1);
        ::close(child);
      }
      ::unlinkat(folder, x->name, AT_REMOVEDIR);
    }
}

std::string own_namespace() {
  char text[64] = {};
  const auto size = ::readlink("/proc/self/ns/pid", text, sizeof text - 1);
  auto out = std::string{};
  for (ssize_t i = 0; i < size; ++i)
    if (text[i] >= '0' && text[i] <= '9')
      out += text[i];
  return out;
}

/// What the names of the groups of one process begin with.
std::optional<std::string> name_of(const std::string& space, int64_t pid) {
  const auto stat = read_stat(pid);
  if (space.empty() || !stat || !stat->birth)
    return {};
  return formatted("{}{}-{}-{}", name_prefix, space, pid, *stat->birth);
}

/// Whether a group of this name belongs to a process of this namespace that has
/// ended.
bool is_stale(const std::string& name, const std::string& space) {
  const auto begin = formatted("{}{}-", name_prefix, space);
  if (space.empty() || !name.starts_with(begin))
    return false;
  auto pid = int64_t{0};
  const auto* const from = name.data() + begin.size();
  if (std::from_chars(from, name.data() + name.size(), pid).ec != std::errc{})
    return false;
  const auto owner = name_of(space, pid);
  return !owner || !name.starts_with(*owner + "-");
}

std::vector<std::string> stale_groups(const std::string& parent) {
  const auto space = own_namespace();
  auto out = std::vector<std::string>{};
  auto error = std::error_code{};
  auto all = std::filesystem::directory_iterator{parent, error};
  for (; !error && all != std::filesystem::end(all); all.increment(error))
    if (is_stale(all->path().filename(), space))
      out.push_back(all->path());
  return out;
}

// Processes are left in one if its agent and both wardens were killed at once. Ours
// must not run beside them.
// @returns where there were some
std::string end_stale(const std::string& parent) {
  const auto all = stale_groups(parent);
  auto populated = std::vector<std::string>{};
  for (const auto& path : all) {
    const auto folder = unique_fd{open_folder(AT_FDCWD, path.c_str())};
    if (!folder || !is_populated(folder.get()))
      continue;
    populated.push_back(path);
    kill_cgroup(folder.get());
  }
  const auto first = populated.empty() ? std::string{} : populated.front();
  const auto due = std::chrono::steady_clock::now() + stale_end_max;
  while (!populated.empty() && std::chrono::steady_clock::now() < due) {
    std::this_thread::sleep_for(stale_interval);
    std::erase_if(populated,
                  [](const auto& x) { return !kill_cgroup_at(x.c_str()); });
  }
  for (const auto& path : all)
    remove_cgroup(path.c_str());
  return first;
}

} // namespace

// -- async-signal-safe ----------------------------------------------------------

void kill_cgroup(int folder) noexcept {
  (void)write_to(folder, "cgroup.kill", "1", 1);
}

bool is_populated(int folder) noexcept {
  const auto fd = ::openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return errno != ENOENT && errno != ENODEV;
  char text[256];
  const auto size = ::read(fd, text, sizeof text - 1);
  const auto is_gone = size < 0 && errno == ENODEV;
  ::close(fd);
  if (size < 0)
    return !is_gone;
  text[size] = '\0';
  return std::strstr(text, "populated 0") == nullptr;
}

int join_cgroup(int folder, pid_t pid) noexcept {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, pid).ptr;
  return write_to(folder, "cgroup.procs", digits,
                  static_cast<size_t>(end - digits));
}

void remove_cgroup(int parent, const char* name) noexcept {
  const auto folder = open_folder(parent, name);
  if (folder < 0)
    return;
  remove_below(folder, depth_max);
  ::close(folder);
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_cgroup(const char* path) noexcept {
  remove_cgroup(AT_FDCWD, path);
}

bool kill_cgroup_at(const char* path) noexcept {
  const auto folder = open_folder(AT_FDCWD, path);
  if (folder < 0)
    return errno != ENOENT;
  kill_cgroup(folder);
  const auto is_alive = is_populated(folder);
  ::close(folder);
  return is_alive;
}

// -- in the agent ---------------------------------------------------------------

cgroup_home::cgroup_home(const std::string& parent) {
  static auto count = std::atomic<uint64_t>{0};
  const auto begin = name_of(own_namespace(), ::getpid());
  if (parent.empty() || !begin) {
    obstacle_ = "there is no cgroup v2";
    return;
  }
  auto path = formatted("{}/{}-{}", parent, *begin, ++count);
  if (path.size() + 1 > path_size_max) {
    obstacle_ = parent + ": the path is too long";
    return;
  }
  ended_ = end_stale(parent);
  if (::mkdir(path.c_str(), 0755) != 0) {
    obstacle_ = formatted("{}: {}", path, system_error_text(errno));
    return;
  }
  if (::access((path + "/cgroup.kill").c_str(), W_OK) != 0) {
    obstacle_ = path + " has no cgroup.kill (Linux 5.14)";
    ::rmdir(path.c_str());
    return;
  }
  path_ = std::move(path);
}

cgroup_home::~cgroup_home() {
  if (!path_.empty())
    remove_cgroup(path_.c_str());
}

std::shared_ptr<worker_cgroup> cgroup_home::open() {
  if (path_.empty())
    return nullptr;
  const auto path = formatted("{}/{}", path_, ++last_);
  if (::mkdir(path.c_str(), 0755) != 0)
    return nullptr;
  auto folder = unique_fd{open_folder(AT_FDCWD, path.c_str())};
  if (!folder)
    return nullptr;
  return std::make_shared<worker_cgroup>(path, std::move(folder));
}

bool is_stale_cgroup(const std::string& name) {
  return is_stale(name, own_namespace());
}

} // namespace actorrun::detail
