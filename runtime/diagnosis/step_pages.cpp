#include "runtime/diagnosis/step_pages.hpp"

#include "runtime/os/file.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr std::string_view steps_suffix = ".steps";

/// A worker locks its file as long as it lives.
bool is_locked(const std::string& path) {
  const auto fd = unique_fd{::open(
    path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)};
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0
         && errno == EWOULDBLOCK;
}

std::optional<core::step_reading> read_page(const std::string& path) {
  auto page = core::step_page{};
  const auto file = open_regular_file(path);
  if (!file || !*file)
    return {};
  const auto bytes = read_part(**file, 0, sizeof page.words);
  if (bytes.size() != sizeof page.words)
    return {};
  std::memcpy(page.words.data(), bytes.data(), bytes.size());
  return core::read_step_page(page);
}

} // namespace

result<std::unique_ptr<step_pages>> step_pages::open() {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  return std::unique_ptr<step_pages>{new step_pages{std::move(*folder)}};
}

step_pages::step_pages(run_folder folder)
  : folder_(std::move(folder)),
    prefix_(folder_.path() + "/" + process_name(::getpid()) + ".") {}

// Also those of workers that were not read yet. Another agent of this process may have
// workers still.
step_pages::~step_pages() {
  auto error = std::error_code{};
  auto i = std::filesystem::directory_iterator{folder_.path(), error};
  for (; !error && i != std::filesystem::directory_iterator{};
       i.increment(error)) {
    const auto path = i->path().string();
    if (path.starts_with(prefix_) && path.ends_with(steps_suffix)
        && !is_locked(path))
      ::unlink(path.c_str());
  }
  remove_dead(folder_.path(), steps_suffix, is_locked);
  folder_.remove_if_empty();
}

std::string step_pages::path_of(int64_t pid) const {
  return prefix_ + std::to_string(pid) + std::string{steps_suffix};
}

std::map<int64_t, core::step_reading>
step_pages::read(const std::vector<int64_t>& pids) {
  auto out = std::map<int64_t, core::step_reading>{};
  for (const auto pid : pids)
    if (auto x = read_page(path_of(pid))) {
      out.emplace(pid, std::move(*x));
      known_.insert(pid);
    }
  std::erase_if(known_, [&](int64_t pid) {
    return std::ranges::find(pids, pid) == pids.end()
           && !is_locked(path_of(pid))
           && (::unlink(path_of(pid).c_str()) == 0 || errno == ENOENT);
  });
  return out;
}

} // namespace actorrun::detail
