// Runs py-spy to get the Python stacks of processes.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::detail {

/// At most this many processes are inspected at a time, the first ones.
inline constexpr size_t python_stacks_max = 16;

/// In bytes, of each process; the rest is dropped.
inline constexpr size_t python_stack_size_max = 64 * 1'024;

/// The path of py-spy; empty if there is none.
/// @param search_path As PATH; folders between colons. Empty folders do not
///                    count.
std::string find_py_spy(std::string_view search_path);

/// Runs `py-spy dump --pid` for all of them in parallel. A py-spy that has not
/// answered by the deadline is killed, and the process that it inspected goes
/// on.
/// @returns as many texts as there are pids, in their order; empty where there
///          is no Python or no answer
std::vector<std::string> python_stacks(const std::string& program,
                                       const std::vector<int64_t>& pids,
                                       core::time_point deadline);

} // namespace actorrun::detail
