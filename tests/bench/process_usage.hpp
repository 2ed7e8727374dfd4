// Reads the resource usage of processes from /proc.
#pragma once

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace actorrun::bench {

/// Children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);

/// A process and its descendants, except `without` and its descendants.
std::vector<pid_t> tree_of(pid_t pid, const std::vector<pid_t>& without);

/// True if it exists and is no zombie.
bool is_alive(pid_t pid);

/// Resident memory in MiB; 0 if it cannot be read.
double resident_mib(pid_t pid);

/// Resident memory in MiB; shared memory is divided by the number of its users.
double proportional_mib(pid_t pid);

/// Processor time of all its threads so far, in seconds; 0 if it cannot be read.
double cpu_seconds(pid_t pid);

/// The number of voluntary sleeps of its threads so far: each sleep was ended
/// by a wake-up.
uint64_t sleep_count(pid_t pid);

uint32_t thread_count(pid_t pid);

} // namespace actorrun::bench
