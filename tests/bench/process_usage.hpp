// What processes cost, as /proc says.
#pragma once

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace actorrun::bench {

/// Children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);

/// A process and its descendants, but for `without` and theirs.
std::vector<pid_t> tree_of(pid_t pid, const std::vector<pid_t>& without);

/// True if it is there and is no zombie.
bool is_alive(pid_t pid);

/// Resident memory in MiB; 0 if it cannot be read.
double resident_mib(pid_t pid);

/// Resident memory in MiB, what is shared divided by those who share it.
double proportional_mib(pid_t pid);

/// How often its threads have gone to sleep by themselves so far: each time,
/// something has woken them.
uint64_t sleep_count(pid_t pid);

uint32_t thread_count(pid_t pid);

} // namespace actorrun::bench
