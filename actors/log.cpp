#include "actors/log.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

namespace actorrun {

namespace {

void put(spdlog::logger* to, spdlog::level::level_enum level,
         std::string_view line) {
  if (to != nullptr)
    to->log(level, spdlog::string_view_t{line.data(), line.size()});
}

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

bool log::set_level(std::string_view name) const {
  const auto level = level_of(name);
  if (level && to_)
    to_->set_level(*level);
  return level.has_value();
}

void log::debug(std::string_view line) const {
  put(to_.get(), spdlog::level::debug, line);
}

void log::info(std::string_view line) const {
  put(to_.get(), spdlog::level::info, line);
}

void log::warn(std::string_view line) const {
  put(to_.get(), spdlog::level::warn, line);
}

void log::error(std::string_view line) const {
  put(to_.get(), spdlog::level::err, line);
}

} // namespace actorrun
