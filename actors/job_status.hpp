// Makes the status of a job from what its journal adds up to. A live job, its
// journal and a job that has ended are shown by the same function.
#pragma once

#include "actors/core/journal/snapshot.hpp"

#include "messages/job.pb.h"

#include <cstddef>

namespace actorrun {

/// At most so many bytes for tag and length of an entry, for the truncation flags
/// and for what a coordinator adds to an agent beside devices and vitals.
inline constexpr size_t status_overhead = 24;

/// At most so many departed nodes are listed; the newest ones.
inline constexpr size_t departures_told_max = 8;

/// Of older epochs than these, the reasons are `-`.
inline constexpr size_t epochs_told_max = 12;

/// All that a journal knows: no devices, no vitals, no leases. It fits into a
/// message; agents that do not are left out.
/// @param now By both clocks of the coordinator.
v1::JobStatus status_of(const core::journal::snapshot& x,
                        core::journal::moment now);

/// Clears what changes with time alone: what is left says whether something has
/// happened.
void forget_ages(v1::JobStatus& x);

} // namespace actorrun
