#include "actors/log_level.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>
#include <string>

namespace actorrun {

namespace {

std::mutex mutex;                         // Guards the next.
std::weak_ptr<spdlog::logger> of_program; ///< Of this process.

/// @returns nothing if there is no such level
std::optional<spdlog::level::level_enum> level_of(std::string_view text) {
  auto name = std::string{text};
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  if (name == "DEBUG" || name == "NOTSET")
    return spdlog::level::debug;
  if (name == "WARNING" || name == "WARN")
    return spdlog::level::warn;
  if (name == "ERROR")
    return spdlog::level::err;
  if (name == "CRITICAL" || name == "FATAL")
    return spdlog::level::critical;
  if (name == "INFO" || name.empty())
    return spdlog::level::info;
  return std::nullopt;
}

} // namespace

void set_program_log(const std::shared_ptr<spdlog::logger>& x) {
  const auto lock = std::lock_guard{mutex};
  of_program = x;
}

bool set_program_log_level(std::string_view name) {
  const auto level = level_of(name);
  const auto lock = std::lock_guard{mutex};
  if (const auto to = of_program.lock(); to && level)
    to->set_level(*level);
  return level.has_value();
}

} // namespace actorrun
