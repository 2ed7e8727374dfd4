// Names excluded hosts beyond the job.
#pragma once

#include "actors/core/protocol/exclusions.hpp"

#include <string>

namespace actorrun::ports {

/// EXTENSION POINT. AN EXCLUSION LIST outlives jobs, and several change it at once.
/// Each call returns at once, and is carried out in its order.
class exclusion_list {
public:
  virtual ~exclusion_list() = default;

  /// What the list names already stays as it is there.
  virtual void add(core::excluded_host x) = 0;

  virtual void remove(std::string host) = 0;
};

} // namespace actorrun::ports
