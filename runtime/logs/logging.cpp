#include "actors/log_level.hpp"
#include "messages/formatted.hpp"
#include "runtime/program_support.hpp"

#include <spdlog/details/os.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <string>
#include <utility>

namespace actorrun {

namespace {

// As spdlog's own sinks for terminals.
const char* color_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "\033[36m"; // cyan
    case spdlog::level::info:
      return "\033[32m"; // green
    case spdlog::level::warn:
      return "\033[33m\033[1m"; // yellow, bold
    case spdlog::level::critical:
      return "\033[1m\033[41m"; // bold on red
    default:
      return "\033[31m\033[1m"; // red, bold
  }
}

constexpr auto no_color = "\033[m";

class console_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
  explicit console_sink(std::shared_ptr<program_console> to)
    : to_(std::move(to)),
      is_colored_(to_->is_terminal(core::output_stream::err)
                  && spdlog::details::os::is_color_terminal()) {}

private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    auto text = spdlog::memory_buf_t{};
    message.color_range_start = 0;
    message.color_range_end = 0;
    formatter_->format(message, text);
    auto line = std::string{text.data(), text.size()};
    if (is_colored_ && message.color_range_end > message.color_range_start) {
      line.insert(message.color_range_end, no_color);
      line.insert(message.color_range_start, color_of(message.level));
    }
    to_->note(line);
  }

  void flush_() override {}

  std::shared_ptr<program_console> to_;
  bool is_colored_;
};

spdlog::level::level_enum level_of(log_level x) {
  switch (x) {
    case log_level::debug:
      return spdlog::level::debug;
    case log_level::info:
      return spdlog::level::info;
    case log_level::warning:
      return spdlog::level::warn;
    case log_level::error:
      break;
  }
  return spdlog::level::err;
}

} // namespace

log open_log(std::shared_ptr<program_console> to, std::string_view program,
             std::string_view level) {
  auto logger = std::make_shared<spdlog::logger>(
    std::string{program}, std::make_shared<console_sink>(std::move(to)));
  logger->set_level(spdlog::level::info);
  logger->set_pattern("[%n %H:%M:%S.%e %^%l%$] %v");
  set_program_log(logger);
  const auto is_known = set_program_log_level(level);
  auto out = log{[logger](log_level of, std::string_view line) {
    logger->log(level_of(of), spdlog::string_view_t{line.data(), line.size()});
  }};
  if (!is_known)
    out.warn(formatted("LOGLEVEL: \"{}\" is not a level; INFO is used. Levels "
                       "are DEBUG, INFO, WARNING, ERROR and CRITICAL",
                       level));
  return out;
}

} // namespace actorrun
