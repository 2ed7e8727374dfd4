// Finds the worker that a process belongs to, by its session.
#pragma once

#include "actors/ports/timer_source.hpp"

namespace actorrun::detail {

/// Every worker leads a session of its own, and its child processes stay in it
/// unless they call setsid(2). Costs two system calls, for any pid.
class posix_session_members final : public ports::session_members {
public:
  /// A worker that has ended has no members, although its pid is not free yet.
  std::optional<int64_t> worker_of(int64_t pid) override;

  /// In clock ticks since the system was started. Reads /proc.
  std::optional<uint64_t> birth_of(int64_t pid) override;
};

} // namespace actorrun::detail
