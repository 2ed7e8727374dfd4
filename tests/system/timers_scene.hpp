// A job of one node whose workers set timers: what they do, and what is said of
// it.
#pragma once

#include "tests/system/log_scene.hpp"

#include <filesystem>
#include <string>

namespace actorrun::test {

struct timers_scene : log_scene {
  /// Starts a job of two workers. `script` is the shell's; in it `$EPOCH` and
  /// `$RANK` say who is who, `$T` is the timing worker, and `timing` becomes it.
  program& timed_job(const std::string& script, words options = {},
                     const std::map<std::string, std::string>& variables = {}) {
    auto line = words{"--standalone", "--nproc-per-node=2"};
    line.insert(line.end(), options.begin(), options.end());
    for (const auto& x :
         {std::string{"--no-python"}, std::string{"sh"}, std::string{"-c"},
          "EPOCH=$ACTORRUN_EPOCH; T=" TIMING_WORKER
          "; timing() { exec $T \"$@\"; }; "
            + script})
      line.push_back(x);
    return run(std::move(line), variables);
  }

  /// The same, until its end.
  /// @returns what was on the console
  std::string
  output_of(const std::string& script, int expected_code, words options = {},
            const std::map<std::string, std::string>& variables = {}) {
    auto& x = timed_job(script, std::move(options), variables);
    CHECK(x.wait() == expected_code);
    return x.output();
  }

  /// Nothing of a job is left where it had its files.
  bool has_tidied_up() const {
    return std::filesystem::is_empty(folder() + "/run");
  }

  /// The latest of all kills that the text tells of, in ms; −1 if there is
  /// none.
  static double worst_lateness(const std::string& text);
};

/// Whether the text has a line that matches, as a whole.
bool has_line(const std::string& text, const std::string& pattern);

} // namespace actorrun::test
