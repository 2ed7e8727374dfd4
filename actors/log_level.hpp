// Changes while the program runs which lines its log has.
#pragma once

#include <memory>
#include <string_view>

namespace spdlog {
class logger;
}

namespace actorrun {

/// From now on `set_program_log_level` is about this logger, as long as it lives.
/// On any thread.
void set_program_log(const std::shared_ptr<spdlog::logger>& x);

/// On any thread. Nothing happens in a program without such a logger: its log is
/// its own.
/// @param name As LOGLEVEL has it, in any case: DEBUG, INFO, WARNING, ERROR or
///             CRITICAL; empty: INFO.
/// @returns false, and changes nothing, if there is no such level
bool set_program_log_level(std::string_view name);

} // namespace actorrun
