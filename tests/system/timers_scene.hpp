// A job of one node whose workers set timers: their steps and the reports about
// them.
#pragma once

#include "tests/system/log_scene.hpp"

#include <filesystem>
#include <string>

namespace actorrun::test {

struct timers_scene : log_scene {
  /// Starts a job of two workers. `script` is the shell's; in it `$GENERATION` and
  /// `$RANK` identify the worker, `$T` is the timing worker, and `timing`
  /// becomes it.
  program& timed_job(const std::string& script, words options = {},
                     const std::map<std::string, std::string>& variables = {}) {
    auto line = words{"--standalone", "--nproc-per-node=2"};
    line.insert(line.end(), options.begin(), options.end());
    for (const auto& x :
         {std::string{"--no-python"}, std::string{"sh"}, std::string{"-c"},
          "GENERATION=$ACTORRUN_GENERATION; T='" TIMING_WORKER
          "'; timing() { exec \"$T\" \"$@\"; }; "
            + script})
      line.push_back(x);
    return run(std::move(line), variables);
  }

  /// Starts the same job and waits for its end.
  /// @returns the console output
  std::string
  output_of(const std::string& script, int expected_code, words options = {},
            const std::map<std::string, std::string>& variables = {}) {
    auto& x = timed_job(script, std::move(options), variables);
    CHECK(x.wait() == expected_code);
    return x.output();
  }

  /// Checks that no file of a job is left.
  bool has_tidied_up() const {
    return std::filesystem::is_empty(folder() + "/run");
  }

  /// The maximum lateness of all kills in the text, in ms; −1 if there is
  /// none.
  static double worst_lateness(const std::string& text);
};

/// Whether the text has a line that matches, as a whole.
bool has_line(const std::string& text, const std::string& pattern);

} // namespace actorrun::test
