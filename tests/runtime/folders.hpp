// Folders for tests: one that is removed afterwards, one on a disk of its own.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <sys/mount.h>
#include <unistd.h>

namespace actorrun::detail::test_folders {

class folder {
public:
  folder() {
    auto name
      = (std::filesystem::temp_directory_path() / "actorrun-test-XXXXXX")
          .string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }

  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    auto ignored = std::error_code{};
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string{name};
  }

private:
  std::string path_;
};

/// A small disk in memory that is not mounted: the kernel drops it with its
/// descriptor, and no thread has to enter a mount namespace, which a process
/// with a changed root folder could not leave.
class small_disk {
public:
  /// @param size As mount(8) takes it, such as `1m`.
  /// @param inode_count As mount(8) takes it; `0` is no limit.
  /// @param type `tmpfs`, or `ramfs`, which can do less and ignores all limits.
  explicit small_disk(const char* size, const char* inode_count = "0",
                      const char* type = "tmpfs") {
    const auto options = unique_fd{::fsopen(type, FSOPEN_CLOEXEC)};
    const auto set = [&](unsigned command, const char* key, const char* value) {
      return ::fsconfig(options.get(), command, key, value, 0) == 0;
    };
    if (options && set(FSCONFIG_SET_STRING, "size", size)
        && set(FSCONFIG_SET_STRING, "nr_inodes", inode_count)
        && set(FSCONFIG_CMD_CREATE, nullptr, nullptr))
      root_ = unique_fd{::fsmount(options.get(), FSMOUNT_CLOEXEC, 0)};
    if (!root_)
      actorrun::test::skip(
        "root", std::string{"no disk can be made, which only root may: "}
                  + std::strerror(errno));
  }

  /// False if there is none: the test case cannot be run.
  explicit operator bool() const { return bool(root_); }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(root_.get());
  }
  std::string operator/(std::string_view name) const {
    return path() + "/" + std::string{name};
  }

private:
  unique_fd root_;
};

inline std::string content_of(const std::string& path) {
  auto in = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace actorrun::detail::test_folders
