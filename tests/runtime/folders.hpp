// Folders for tests: one that is gone afterwards, one on a disk of its own.
#pragma once

#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sched.h>
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

/// A small disk in memory, mounted for this thread alone.
class small_disk {
public:
  /// @param size As mount(8) takes it, such as `1m`.
  /// @param type `tmpfs`, or `ramfs`, which can do less and ignores its size.
  explicit small_disk(const std::string& size,
                      const std::string& type = "tmpfs") {
    before_ = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    mounted_
      = before_ >= 0 && ::unshare(CLONE_NEWNS) == 0
        && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
        && ::mount(type.c_str(), here_.path().c_str(), type.c_str(), 0,
                   ("size=" + size).c_str())
             == 0;
    if (!mounted_)
      WARN("SKIPPED: a disk can only be mounted by root");
  }

  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    if (mounted_)
      ::umount2(here_.path().c_str(), MNT_DETACH);
    ::setns(before_, CLONE_NEWNS);
    ::close(before_);
  }

  /// False: there is none; the test case cannot be run.
  explicit operator bool() const { return mounted_; }

  const std::string& path() const { return here_.path(); }
  std::string operator/(std::string_view name) const { return here_ / name; }

private:
  folder here_;
  int before_ = -1;
  bool mounted_ = false;
};

inline std::string content_of(const std::string& path) {
  auto in = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace actorrun::detail::test_folders
