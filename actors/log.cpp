#include "actors/log.hpp"

#include "actors/core/logs/own_line.hpp"

#include <spdlog/logger.h>

#include <string>

namespace actorrun {

namespace {

void put(spdlog::logger* to, spdlog::level::level_enum level,
         std::string_view line) {
  if (to == nullptr || !to->should_log(level))
    return;
  auto room = std::string{};
  const auto safe = core::own_line(line, room);
  to->log(level, spdlog::string_view_t{safe.data(), safe.size()});
}

} // namespace

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
