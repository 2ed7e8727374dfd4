// Runs a program for a measurement, and ends it with the measurement.
#pragma once

#include "tests/bench/moment.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::bench {

/// Ends with its owner: it is stopped, killed if it does not stop, and reaped.
/// If the benchmark itself is killed, so is the program.
class program {
public:
  struct command {
    std::vector<std::string> arguments;   ///< The first is looked up in PATH.
    std::vector<std::string> environment; ///< Additional `NAME=value`.
    std::string output;                   ///< A file for its output.
    /// A descriptor for its output, instead of the file; -1 if there is none.
    int console = -1;
    int terminal = -1; ///< Its terminal, for input, too; -1 if there is none.
  };

  static result<program> start(const command& what);

  program(program&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  program& operator=(program&& other) noexcept;
  ~program() { end(); }

  pid_t pid() const { return pid_; }

  /// True until its end has been seen.
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

/// The last lines of a program's file, as text; may be empty.
std::string last_words(const std::string& path);

} // namespace actorrun::bench
