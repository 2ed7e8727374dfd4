// Says how a node is doing: in one word, and why in one line.
#pragma once

#include "actors/core/journal/snapshot.hpp"

#include <string>

namespace actorrun::core::journal {

/// `running`, `starting`, `stopping`, `failed`, `succeeded`: its workers of the
/// newest generation. `standby`: a generation runs without it. `waiting`: it waits
/// for a generation. `leaving`: it is about to leave. `away`: its link is broken.
/// `draining`: it is to leave. `excluded`: it gets no place. `unfit`: likewise, until
/// its checks succeed.
std::string state_of(const node_entry& x, const snapshot& job);

/// Empty if the word says all. Printable.
std::string reason_of(const node_entry& x, const snapshot& job);

/// The root cause, as far as it is known, of the newest generation that a failure
/// has ended; null: none has.
const worker_failure* last_failure_of(const snapshot& job);

} // namespace actorrun::core::journal
