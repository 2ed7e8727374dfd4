// Looks up processes in /proc.
#pragma once

#include "actors/core/process_stat.hpp"

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace actorrun::detail {

/// @returns nothing if there is no such process
std::optional<core::process_stat> read_stat(int64_t pid);

/// The session of a process; 0 if there is no such process.
pid_t session_of(int64_t pid);

} // namespace actorrun::detail
