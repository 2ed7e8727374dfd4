// Reports progress of rank 0 to people (the console) and programs (a file).
#pragma once

#include "environment.hpp"
#include "options.hpp"
#include "state.hpp"

#include <chrono>
#include <fstream>

namespace training {

/// Does nothing in all ranks but 0.
class progress {
public:
  /// Ends the process if the progress file cannot be opened.
  progress(const environment& self, const options& chosen);

  /// Reports where training starts or resumes.
  void begin(const training_state& state);

  /// Call it after each step. The console gets a line at the first step, the
  /// last and at most two per second; the file gets one at the first step of
  /// the generation, at every `progress_every`-th and at the last.
  void report(const training_state& state);

private:
  const environment& self_;
  const options& options_;
  std::ofstream file_;
  std::chrono::steady_clock::time_point next_line_;
  bool first_ = true;
};

} // namespace training
