// Log lines of an actor, as text: `warning coordinator stops generation 1: …`.
#pragma once

#include "actors/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>

namespace actorrun::test {

/// Copies share their text.
class log_lines {
public:
  log_lines() {
    logger_->set_pattern("%l %v");
    logger_->set_level(spdlog::level::debug);
  }

  actorrun::log writer() const { return actorrun::log{logger_}; }

  /// All lines since the last call, each with a line end.
  std::string told() const {
    auto text = text_->str();
    text_->str({});
    return text;
  }

private:
  std::shared_ptr<std::ostringstream> text_
    = std::make_shared<std::ostringstream>();
  std::shared_ptr<spdlog::logger> logger_ = std::make_shared<spdlog::logger>(
    "test", std::make_shared<spdlog::sinks::ostream_sink_st>(*text_));
};

} // namespace actorrun::test
