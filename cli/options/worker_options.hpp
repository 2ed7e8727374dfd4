// Defines the options about workers: what they run, how often they restart, and
// which of them serves torch's store.
#pragma once

#include "cli/options/option_table.hpp"
#include "cli/options/run_settings.hpp"

#include <chrono>
#include <cstdint>

namespace actorrun::cli {

/// The rules that fill `out`, which must outlive them.
option_rules worker_rules(run_settings& out);

/// Reads `--max-restarts`.
value_reader restart_count_reader(uint32_t& target);

/// `--exclude-after`, below a heading of the help.
option_rule exclude_after_rule(const std::string& heading, uint32_t& target);

/// `--safe-point-timeout`, below a heading of the help.
option_rule safe_point_timeout_rule(const std::string& heading,
                                    std::chrono::milliseconds& target);

} // namespace actorrun::cli
