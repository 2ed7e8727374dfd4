// Says which worker a process belongs to, by its session.
#pragma once

#include "actors/ports/timer_source.hpp"

namespace actorrun::detail {

/// Every worker leads a session of its own, and what it starts stays in that
/// unless it goes to lengths. Costs two system calls, for any pid.
class posix_session_members final : public ports::session_members {
public:
  /// A worker that has ended has no kin, though its pid is still taken.
  std::optional<int64_t> worker_of(int64_t pid) override;

  /// In clock ticks since the system was started. Costs a look into /proc.
  std::optional<uint64_t> birth_of(int64_t pid) override;
};

} // namespace actorrun::detail
