// A scene whose jobs write logs: what they leave on disk and on the console.
#pragma once

#include "tests/system/scene.hpp"

#include <map>
#include <string>
#include <vector>

namespace actorrun::test {

/// What is in a folder of logs: contents by path below the one run folder.
/// Folders are there, too, with a slash at the end and without content.
using log_tree = std::map<std::string, std::string>;

struct log_scene : scene {
  /// Starts a job of this node alone, `slots` workers of which run a script of
  /// the shell, with its logs below `logs()`.
  program& job(const words& options, const std::string& script,
               uint32_t slots = 4);

  /// The same, until its end.
  /// @returns what was on the console
  std::string console_of(const words& options, const std::string& script,
                         uint32_t slots = 4, int expected_code = 0);

  std::string logs() const { return folder() + "/logs"; }

  /// The folders that runs have made in `base`.
  static words runs_in(const std::string& base);

  /// Reads what the only run in `base` has left; fails the test if there are
  /// several.
  static log_tree read_logs(const std::string& base);
};

/// The paths of a tree, with a space after each.
std::string paths_of(const log_tree& x);

/// Its lines without their line ends, in order; what follows the last line end
/// is a line, too, if it is not empty.
words lines_of(const std::string& text);

/// The same, sorted.
words sorted_lines(const std::string& text);

/// Where long lists begin to differ, in a few words; empty if they do not.
std::string difference(const words& actual, const words& expected);

} // namespace actorrun::test
