// Runs a worker program until it dies, and reads its record.
#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/worker_files.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun {

struct record_fixture : worker_files {
  /// How a program ended, and what it wrote.
  struct program_end {
    int code = -1;     ///< -1 if it died of a signal.
    int signal = 0;    ///< 0 if there was none.
    std::string words; ///< Standard error.
  };

  /// @param error_file If empty, the variable is not set.
  pid_t start(const std::vector<std::string>& command,
              const std::string& error_file) const {
    const auto output = path("stderr");
    auto arguments = std::vector<char*>{};
    for (const auto& x : command)
      arguments.push_back(const_cast<char*>(x.c_str()));
    arguments.push_back(nullptr);
    const auto pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid > 0)
      return pid;
    // A program that hangs is ended, and writes no core file.
    constexpr auto timeout = 60u;
    ::alarm(timeout);
    const auto none = rlimit{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::dup2(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
           STDERR_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::unsetenv("TORCHELASTIC_ERROR_FILE");
    if (!error_file.empty())
      ::setenv("TORCHELASTIC_ERROR_FILE", error_file.c_str(), 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }

  program_end await(pid_t pid) const {
    auto status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, read("stderr")};
  }

  /// Runs the test's own program.
  program_end run(std::vector<std::string> arguments,
                  const std::string& entry = "function") const {
    arguments.insert(arguments.begin(), {RECORD_CHILD, entry});
    return await(start(arguments, path("error.json")));
  }

  bool has_record() const {
    return std::filesystem::exists(path("error.json"));
  }

  nlohmann::json record() const {
    const auto x = nlohmann::json::parse(read("error.json"), nullptr, false);
    REQUIRE(x.is_object());
    return x;
  }

  std::string message() const { return record()["message"]["message"]; }

  std::string stack() const {
    return record()["message"]["extraInfo"]["py_callstack"];
  }

  /// Whether the folder contains only the record.
  bool is_tidy() const {
    auto count = 0;
    for (const auto& x : std::filesystem::directory_iterator{folder})
      if (x.path().filename() != "stderr"
          && x.path().filename() != "error.json")
        ++count;
    return count == 0;
  }
};

} // namespace actorrun
