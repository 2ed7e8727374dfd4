// Inspects a process that may be stuck. Reads only files of /proc that the
// kernel answers without waiting for the process.
#pragma once

#include "actors/core/reports/hang_summary.hpp"
#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// At most this many threads of one process are inspected.
inline constexpr size_t snapshot_threads_max = 64;

/// A snapshot of a thread; empty if it has ended.
core::thread_snapshot see_thread(int64_t pid, int64_t tid);

/// Of a process: of its first thread.
core::thread_snapshot see_process(int64_t pid);

/// The thread that keeps a process from ending: one that cannot be interrupted,
/// else the first.
core::thread_snapshot see_hanging_thread(int64_t pid);

/// Everything about a process and its threads, in lines: state, place, system
/// call, kernel stack where that may be read, memory and signals of `status`.
/// @param deadline Threads that it does not reach are counted only.
std::string describe_process(int64_t pid, core::time_point deadline);

/// The functions in the kernel that the first thread of a process is in; empty
/// without the privilege to trace the kernel.
std::string kernel_stack_of(int64_t pid);

/// The name of a system call of this machine, `futex`; of one that seldom
/// hangs the number, `syscall 16`.
std::string system_call_name(int64_t number);

} // namespace actorrun::detail
