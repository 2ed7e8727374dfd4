#include "actors/log_level.hpp"
#include "tests/support/catch.hpp"

#include <spdlog/logger.h>

namespace actorrun::test::log_level_test {

using level = spdlog::level::level_enum;

TEST_CASE("log_level: the program's logger follows, as long as it lives",
          "[actors]") {
  auto log = std::make_shared<spdlog::logger>("test");
  set_program_log(log);
  const auto [name, expected] = GENERATE(table<std::string, level>({
    {"DEBUG", level::debug},
    {"debug", level::debug},
    {"NOTSET", level::debug},
    {"INFO", level::info},
    {"", level::info},
    {"Warning", level::warn},
    {"WARN", level::warn},
    {"ERROR", level::err},
    {"CRITICAL", level::critical},
    {"fatal", level::critical},
  }));
  CHECK(set_program_log_level(name));
  CHECK(log->level() == expected);
  CHECK_FALSE(set_program_log_level("LOUD"));
  CHECK(log->level() == expected);
  log.reset();
  CHECK(set_program_log_level("ERROR")); // There is such a level.
  CHECK_FALSE(set_program_log_level("LOUD"));
}

TEST_CASE("log_level: a program without a logger of ours keeps its own",
          "[actors]") {
  const auto own = std::make_shared<spdlog::logger>("own");
  own->set_level(level::warn);
  set_program_log(nullptr);
  CHECK(set_program_log_level("DEBUG"));
  CHECK(own->level() == level::warn);
}

} // namespace actorrun::test::log_level_test
