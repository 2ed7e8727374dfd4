// Reads what workers say of their steps.
#pragma once

#include "actors/core/stragglers/step_page.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace actorrun::ports {

class step_counters {
public:
  virtual ~step_counters() = default;

  /// Where workers say it, for ACTORRUN_STEPS: the beginning of an absolute path.
  virtual const std::string& prefix() const = 0;

  /// Returns at once. @param pids Of the workers. @returns by pid, those that say it
  virtual std::map<int64_t, core::step_reading>
  read(const std::vector<int64_t>& pids) = 0;
};

} // namespace actorrun::ports
