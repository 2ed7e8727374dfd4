// A worker program that says how long its steps take, and what it has saved.
#pragma once

#include "actors/core/stragglers/step_page.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test {

/// Runs a worker program: in a child process with a session of its own, since a process
/// has one page for its life.
class step_worker {
public:
  step_worker() {
    auto name = std::string{"/tmp/actorrun-steps-XXXXXX"};
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }

  ~step_worker() { std::filesystem::remove_all(folder_); }

  step_worker(const step_worker&) = delete;
  step_worker& operator=(const step_worker&) = delete;

  /// @returns its exit code
  template <class Program>
  int run(Program program, bool has_agent = true) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      if (has_agent)
        ::setenv("ACTORRUN_STEPS", (folder_ + "/7.").c_str(), 1);
      else
        ::unsetenv("ACTORRUN_STEPS");
      ::_exit(program());
    }
    auto status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string path() const {
    return folder_ + "/7." + std::to_string(pid_) + ".steps";
  }

  std::optional<core::step_reading> reading() const {
    auto file = std::ifstream{path(), std::ios::binary};
    const auto bytes = std::string{std::istreambuf_iterator<char>{file}, {}};
    auto page = core::step_page{};
    if (bytes.size() != sizeof page.words)
      return {};
    std::memcpy(page.words.data(), bytes.data(), bytes.size());
    return core::read_step_page(page);
  }

  bool has_no_files() const { return std::filesystem::is_empty(folder_); }

private:
  std::string folder_;
  pid_t pid_ = 0;
};

} // namespace actorrun::test
