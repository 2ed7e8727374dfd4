// Describes in words how a worker failed.
#pragma once

#include "actors/core/failure.hpp"

#include <chrono>
#include <string>

namespace actorrun::core {

/// `exited with code 7`, with its message or why its program has not begun; one line,
/// as `to_string` has it.
std::string what_happened(const worker_failure& x);

/// Whether its own words, or SIGPIPE, say that a peer's connection was closed, so that
/// it may have failed because another worker had.
bool misses_peer(const worker_failure& x);

/// So much later than it died counts a worker that misses a peer, and so long its
/// report is held back at most: connections of a process are closed before its end
/// is seen, and its peers may be quicker.
inline constexpr auto hearsay_lag = std::chrono::milliseconds{500};

} // namespace actorrun::core
