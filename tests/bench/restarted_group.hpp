// Workers that a launcher restarts when one of them dies.
#pragma once

#include "tests/bench/setting.hpp"

namespace actorrun::bench {

struct restarted_group {
  program launcher;
  stamp_tracker tracker;
  stamps newest; ///< The running workers.
};

/// Starts a launcher of stamping workers and waits until `count` of them run.
result<restarted_group>
start_group(setting& s, std::vector<std::string> arguments, size_t count);

/// The limit: a bare loop with `count` workers.
result<restarted_group> start_loop(setting& s, size_t count);

/// Kills a process with SIGKILL and waits for the generation that follows.
/// @param newest The running workers; afterwards those of the new generation.
/// @param count  The number of workers in the next generation.
/// @returns milliseconds from the kill to the last start
result<double> kill_and_await(pid_t victim, stamp_tracker& tracker,
                              stamps& newest, size_t count);

} // namespace actorrun::bench
