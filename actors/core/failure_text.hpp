// Describes in words how a worker failed.
#pragma once

#include "actors/core/failure.hpp"

#include <string>

namespace actorrun::core {

/// `exited with code 7`, with its message; one line, as `to_string` has it.
std::string what_happened(const worker_failure& x);

/// Whether its own words say that a peer's connection was closed, so that it may
/// have failed because another worker had.
bool misses_peer(const worker_failure& x);

} // namespace actorrun::core
