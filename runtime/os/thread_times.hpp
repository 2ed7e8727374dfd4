// Measures what a thread has had of the processors.
#pragma once

#include "actors/core/logs/reading_pace.hpp"
#include "runtime/os/unique_fd.hpp"

namespace actorrun::detail {

/// Belongs to the thread that makes it.
class thread_times {
public:
  thread_times();

  /// The time that it waited is 0 where the kernel keeps no count
  /// (`CONFIG_SCHED_INFO`).
  core::processor_time now() const;

private:
  unique_fd schedstat_;
};

} // namespace actorrun::detail
