// Asks py-spy for the Python stacks of processes.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::detail {

/// Processes that are asked for in one go, the first ones.
inline constexpr size_t python_stacks_max = 16;

/// In bytes, of each process; what py-spy writes beyond is left out.
inline constexpr size_t python_stack_size_max = 64 * 1'024;

/// Where py-spy is; empty if it is nowhere.
/// @param search_path As PATH; folders between colons. Empty folders do not
///                    count.
std::string find_py_spy(std::string_view search_path);

/// Runs `py-spy dump --pid` for all of them side by side. Who has not answered
/// by the deadline is killed, and the process that it looked at goes on.
/// @returns as many texts as there are pids, in their order; empty where there
///          is no Python or no answer
std::vector<std::string> python_stacks(const std::string& program,
                                       const std::vector<int64_t>& pids,
                                       core::time_point deadline);

} // namespace actorrun::detail
