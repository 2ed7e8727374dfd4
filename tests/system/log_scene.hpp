// A scene whose jobs write logs, to disk and to the console.
#pragma once

#include "tests/system/scene.hpp"

#include <map>
#include <string>
#include <vector>

namespace actorrun::test {

/// A folder of logs: contents by path below the one run folder. Folders are
/// included, with a slash at the end and without content.
using log_tree = std::map<std::string, std::string>;

struct log_scene : scene {
  /// Starts a job of this node alone, `slots` workers of which run a script of
  /// the shell, with its logs below `logs()`.
  program& job(const words& options, const std::string& script,
               uint32_t slots = 4);

  /// Starts the same job and waits for its end.
  /// @returns the console output
  std::string console_of(const words& options, const std::string& script,
                         uint32_t slots = 4, int expected_code = 0);

  std::string logs() const { return folder() + "/logs"; }

  /// The folders that runs have made in `base`.
  static words runs_in(const std::string& base);

  /// Reads the files of the only run in `base`; fails the test if there are
  /// several runs.
  static log_tree read_logs(const std::string& base);
};

/// The paths of a tree, with a space after each.
std::string paths_of(const log_tree& x);

/// Its lines without their line ends, in order; text after the last line end
/// is a line, too, if it is not empty.
words lines_of(const std::string& text);

/// The same, sorted.
words sorted_lines(const std::string& text);

/// Where long lists begin to differ, in short; empty if they are equal.
std::string difference(const words& actual, const words& expected);

} // namespace actorrun::test
