// Runs shells for the tests of completion: with a script, or at a terminal, where
// they complete a typed line.
#pragma once

#include "cli/actorctl_arguments.hpp"
#include "cli/completion/parts.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::cli {

/// The script that a program prints for a shell.
inline std::string script_for(const std::string& shell,
                              const std::string& program = "actorrun") {
  const auto line = words{"--print-completion", shell};
  if (program == "actorctl")
    return std::get<help>(*parse_control(line, world_with({}))).text;
  return std::get<help>(*parse(line)).text;
}

/// Whether a shell is installed; warns that tests are skipped if it is not.
inline bool has_shell(const std::string& name) {
  const auto is_there
    = std::system((name + " -c exit >/dev/null 2>&1").c_str()) == 0;
  if (!is_there)
    actorrun::test::skip("shells", "there is no " + name);
  return is_there;
}

/// The output of a shell that runs `text`.
/// @param program Without start-up files: `bash --norc`.
inline std::string output_of(const std::string& program,
                             const std::string& text) {
  const auto command = program + " -c " + quoted_for_shell(text) + " 2>&1";
  const auto pipe = std::unique_ptr<FILE, int (*)(FILE*)>{
    ::popen(command.c_str(), "r"), ::pclose};
  REQUIRE(pipe);
  auto out = std::string{};
  auto some = std::array<char, 4'096>{};
  while (std::fgets(some.data(), some.size(), pipe.get()) != nullptr)
    out += some.data();
  return out;
}

/// A shell at a terminal.
class shell_terminal {
public:
  /// @param program Without start-up files: `zsh -f`.
  /// @param setup   The shell's first input. The programs must print their
  ///                arguments between `got<` and `>`, the prompt be `ready>`.
  shell_terminal(const std::string& program, const std::string& setup)
    : setup_(std::filesystem::temp_directory_path()
             / ("actorrun-" + std::to_string(::getpid()) + ".shell")) {
    std::ofstream{setup_} << setup;
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      ::setenv("TERM", "vt100", 1);
      ::execl("/bin/sh", "sh", "-c", ("exec " + program).c_str(), nullptr);
      ::_exit(127);
    }
    REQUIRE(child_ > 0);
    type("source " + setup_.string() + "\n");
    read_past("ready>");
  }

  shell_terminal(const shell_terminal&) = delete;
  shell_terminal& operator=(const shell_terminal&) = delete;

  ~shell_terminal() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(terminal_);
    std::filesystem::remove(setup_);
  }

  /// The arguments that the program gets when a tab ends the line.
  std::string completed(const std::string& line) {
    type(line + "\t\n");
    read_past("got<");
    const auto out = read_past(">");
    read_past("ready>");
    return out;
  }

private:
  void type(const std::string& text) {
    REQUIRE(::write(terminal_, text.data(), text.size())
            == static_cast<ssize_t>(text.size()));
  }

  /// The output of the terminal up to `end`.
  std::string read_past(const std::string& end) {
    constexpr auto timeout = std::chrono::seconds{20};
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      if (const auto i = shown_.find(end); i != shown_.npos) {
        const auto out = shown_.substr(0, i);
        shown_.erase(0, i + end.size());
        return out;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
      auto wanted = pollfd{terminal_, POLLIN, 0};
      char some[4'096];
      INFO("waits for " << end << " behind:\n" << shown_);
      REQUIRE(left.count() > 0);
      REQUIRE(::poll(&wanted, 1, static_cast<int>(left.count())) > 0);
      const auto n = ::read(terminal_, some, sizeof(some));
      REQUIRE(n > 0);
      shown_.append(some, static_cast<size_t>(n));
    }
  }

  std::filesystem::path setup_;
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string shown_; ///< Output that was not examined yet.
};

} // namespace actorrun::cli
