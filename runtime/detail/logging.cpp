#include "actorrun/runtime/detail/logging.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace actorrun::detail {

namespace {

spdlog::level::level_enum level_of(std::string_view text) {
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
  return spdlog::level::info;
}

} // namespace

log open_console(std::string_view program, std::string_view level) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger
    = std::make_shared<spdlog::logger>(std::string{program}, std::move(sink));
  logger->set_level(level_of(level));
  logger->set_pattern("[%n %H:%M:%S.%e %^%l%$] %v");
  return log{std::move(logger)};
}

} // namespace actorrun::detail
