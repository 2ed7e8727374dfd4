// Defines the options about workers: what they run, how often they restart, and
// which of them serves torch's store.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/run_settings.hpp"

#include <chrono>
#include <cstdint>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_worker_options(CLI::App& app, run_settings& out);

/// Reads `--max-restarts`.
value_reader restart_count_reader(uint32_t& target);

void add_exclude_file(option_adder& add, std::string& target);

void add_safe_point_timeout(option_adder& add,
                            std::chrono::milliseconds& target);

} // namespace actorrun::cli
