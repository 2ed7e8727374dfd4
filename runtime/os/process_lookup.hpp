// Looks up processes in /proc.
#pragma once

#include "actors/core/process_stat.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// @returns nothing if there is no such process
std::optional<core::process_stat> read_stat(int64_t pid);

/// The processes that the first thread of a process has started and that have not
/// been waited for; at most `count_max`. None if the kernel does not list them.
std::vector<int64_t> children_of(int64_t pid, size_t count_max);

/// The session of a process; 0 if there is no such process.
pid_t session_of(int64_t pid);

} // namespace actorrun::detail
