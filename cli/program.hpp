// Does what all commands that take part in a job need at their start and end.
#pragma once

#include "actors/log.hpp"
#include "cli/signals.hpp"
#include "messages/result.hpp"
#include "runtime/program_support.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

inline constexpr auto operator_program = "actorctl";

/// Timeout for the status of one job.
inline constexpr auto status_limit = std::chrono::seconds{3};

/// Logs with the level of `$LOGLEVEL`.
log open_log(const std::shared_ptr<program_console>& to, const char* program);

/// Prints a failure after all output that is queued for the console.
/// @returns its exit code
int fail(const failure& why, std::string_view program,
         program_console& console);

/// Prints warnings on standard error.
void say(const std::vector<std::string>& warnings, const char* program);

/// Skips CAF's shutdown: it joins all threads, and one in the system's resolver may
/// wait for a dead name server.
/// @pre all cleanup is done
[[noreturn]] void leave(int code);

bool contains(const std::vector<int>& signals, int x);

/// Waits until the console has taken all lines. Its reader may have stopped reading,
/// so a second signal ends the wait; after two that came before, it is short.
/// @param signal_count Those that have come already.
/// @param ignored      Signals that do not count.
void await_console(program_console& console, signal_inbox& inbox,
                   uint32_t signal_count, const std::vector<int>& ignored = {});

} // namespace actorrun::cli
