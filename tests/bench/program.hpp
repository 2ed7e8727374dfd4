// A program that runs for a measurement, and not longer.
#pragma once

#include "tests/bench/moment.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::bench {

/// Ends with its owner: it is asked to, killed if it does not, and reaped. If
/// the benchmark itself is killed, so is the program.
class program {
public:
  struct command {
    std::vector<std::string> arguments;   ///< The first is looked up in PATH.
    std::vector<std::string> environment; ///< `NAME=value`, added to ours.
    std::string output;                   ///< A file for what it prints.
    /// A descriptor for what it prints, instead of the file; -1: none.
    int console = -1;
  };

  static result<program> start(const command& what);

  program(program&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  program& operator=(program&& other) noexcept;
  ~program() { end(); }

  pid_t pid() const { return pid_; }

  /// True while nobody has seen it end.
  bool running() const { return pid_ > 0; }

  void signal(int number) const;

  /// @returns its status as of wait(2); nothing if `due` came first
  std::optional<int> wait(clock::time_point due);

private:
  explicit program(pid_t pid) : pid_(pid) {}
  void end();

  pid_t pid_ = 0;
};

/// `exited with code 1`
/// @param status as of wait(2)
std::string describe(int status);

/// Runs it from start to end.
/// @returns wall time in milliseconds; a failure if it does not exit with 0
result<double> time_of(const program::command& what);

/// The last lines of a file that a program wrote, for people; may be empty.
std::string last_words(const std::string& path);

} // namespace actorrun::bench
