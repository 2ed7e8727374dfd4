// Makes the status of a job from what its journal adds up to. A live job, its
// journal and a job that has ended are shown by the same function.
#pragma once

#include "actors/core/journal/snapshot.hpp"

#include "messages/job.pb.h"

#include <cstddef>

namespace actorrun {

/// At most this many bytes for tag and length of an entry, for the truncation flags
/// and for what a coordinator adds to an agent beside devices and vitals.
inline constexpr size_t status_overhead = 24;

/// What a status can take before it is as large as one may be: `status_size_max`,
/// `status_part_count_max`.
class status_room {
public:
  /// @param x What it has already.
  explicit status_room(const v1::JobStatus& x);

  /// @param size  Of an entry, in bytes.
  /// @param count Of messages in it, with itself.
  /// @returns whether there is room
  bool take(size_t size, size_t count = 1);

private:
  size_t size_;
  size_t part_count_;
};

/// At most this many departed nodes are listed; the newest ones.
inline constexpr size_t departures_told_max = 8;

/// Of older generations than these, the reasons are `-`.
inline constexpr size_t generations_told_max = 12;

/// By both clocks.
core::journal::moment moment_of(core::time_point now);

/// All that a journal knows: no devices, no vitals, no leases. Agents for which
/// there is no room are left out.
/// @param now By both clocks of the coordinator.
v1::JobStatus status_of(const core::journal::snapshot& x,
                        core::journal::moment now);

/// Of a worker of this agent's generation.
uint32_t global_rank(const v1::AgentStatus& x, uint32_t local_rank);

/// Clears what changes with time alone: what is left says whether something has
/// happened.
void forget_ages(v1::JobStatus& x);

} // namespace actorrun
