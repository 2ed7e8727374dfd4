// A program whose execution hangs until a test lets it go on: a write lease
// (fcntl(2), F_SETLEASE) blocks whoever opens the file, as a file system does
// that has stopped answering. The kernel breaks it after 45 s.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <fcntl.h>

namespace actorrun::test {

class hanging_file {
public:
  /// Makes `path` a copy of `program` that hangs.
  hanging_file(const std::string& path, const std::string& program)
    : path_(path) {
    std::filesystem::copy_file(program, path);
    ::signal(SIGIO, SIG_IGN); // Says that a lease is in the way.
    file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(file_);
    REQUIRE(::fcntl(file_.get(), F_SETLEASE, F_WRLCK) == 0);
  }

  ~hanging_file() { let_go(); }

  hanging_file(const hanging_file&) = delete;
  hanging_file& operator=(const hanging_file&) = delete;

  const std::string& path() const { return path_; }

  /// Whether a process hangs in it.
  bool is_awaited() const {
    return file_ && ::fcntl(file_.get(), F_GETLEASE) != F_WRLCK;
  }

  /// It hangs no more.
  void let_go() { file_.reset(); }

private:
  std::string path_;
  detail::unique_fd file_;
};

} // namespace actorrun::test
