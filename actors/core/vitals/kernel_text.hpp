// Reads what the kernel writes about a node as text: load, memory, lists of
// processes. The lines about one process: `process_stat.hpp`.
#pragma once

#include "actors/core/vitals/node_vitals.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// Reads `/proc/loadavg`: `0.52 1.00 12.34 1/345 6789`.
/// @returns nothing if one of the averages is missing or no number; what is
///          too large is the largest number
std::optional<node_load> parse_load(std::string_view text);

/// Reads the total and available memory of `/proc/meminfo`.
/// @returns nothing if a line is missing, cut off, or has another unit than kB
std::optional<node_memory> parse_memory(std::string_view text);

/// Reads `/proc/<pid>/task/<tid>/children`: numbers of processes with blanks
/// between.
/// @returns at most `count_max`, up to the first that is none
std::vector<int64_t> parse_pids(std::string_view text, size_t count_max);

} // namespace actorrun::core
